// Asks for what History will show while Buildbot is still busy with its own parts.

import { begin, historyPath } from "./api.js";

const allSeries = await begin("series");
await Promise.all(allSeries.map((series) => begin(historyPath(series))));
