// Asks for what History will show while Buildbot is still busy with its own parts.

import { begin, historyPath } from "./api.js";

const allSeries = await begin("series");
const first = allSeries.filter((series) => series.branch === allSeries[0].branch);
await Promise.all(first.map((series) => begin(historyPath(series))));
