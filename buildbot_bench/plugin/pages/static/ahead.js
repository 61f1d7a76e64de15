// Asks for what History will show while Buildbot is still busy with its own parts.

import { begin, seriesPath } from "./api.js";

const lanes = await begin("lanes");
await Promise.all(lanes.map((lane) => begin(seriesPath(lane))));
