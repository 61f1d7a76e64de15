// The farm's REST interface, and how a page keeps up with it; it shows nothing.

const { useCallback, useEffect, useState, useSyncExternalStore } = window.React;

const ROOT = "api/v2/bench/";

// The same request succeeds later; see plugin/rest/endpoints.py.
const NOT_YET = -32001;

/** A series as part of an address. */
export function seriesPath({ testbed, workload }) {
  return `${encodeURIComponent(testbed)}/${encodeURIComponent(workload)}`;
}

/** What names a branch in an address; nothing for the farm's first, or only, branch. */
export function branchQuery({ branch }) {
  return branch ? `?branch=${encodeURIComponent(branch)}` : "";
}

/** Where a series is, or what commits cost, a value of its runs, or a map of all: see pages/histories.py. */
export function historyPath(series, more = {}) {
  const asked = new URLSearchParams(Object.entries({ branch: series.branch, ...more }).filter(([, value]) => value));
  return `plugins/bench/history/${seriesPath(series)}${asked.size ? `?${asked}` : ""}`;
}

/** What a GET gives: always a list, for Buildbot wraps single things too. */
export async function get(path) {
  const answer = await fetch(path.startsWith("plugins/") ? path : ROOT + path, { headers: { Accept: "application/json" } });
  if (!answer.ok) {
    throw new Error(answer.status === 404 ? `${path} does not exist.` : `${answer.status} for ${path}`);
  }
  const { meta, ...lists } = await answer.json();
  return Object.values(lists)[0];
}

// What was asked for before the page that wants it was there; each answer is taken once.
const begun = new Map();

/** As `get`, and kept for the page that asks for it first. */
export function begin(path) {
  const answer = get(path);
  begun.set(path, answer);
  return answer;
}

function taken(path) {
  const answer = begun.get(path) ?? get(path);
  begun.delete(path);
  return answer;
}

/**
 * Call an action of a resource; what Buildbot refuses is thrown with its own words. The error has
 * `isNotYet` when the same call succeeds later, and says how far it is until then.
 */
export async function act(path, method, params = {}) {
  const answer = await fetch(ROOT + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await answer.json();
  if (error) {
    const words = answer.status === 403 ? "You do not have permission. Log in, top right." : error.message;
    throw Object.assign(new Error(words), { isNotYet: error.code === NOT_YET });
  }
  return result;
}

/** Whether somebody has logged in; what they may do, the master decides. */
export function isLoggedIn() {
  const { user } = window.buildbotFrontendConfig ?? {};
  return Boolean(user) && !user.anonymous;
}

// How many first answers the page waits for, and who is told when that changes.
let awaited = 0;
const watchers = new Set();

function wait(more) {
  awaited += more;
  watchers.forEach((told) => told());
}

function watch(told) {
  watchers.add(told);
  return () => watchers.delete(told);
}

/** Whether the page still waits for something that it has never seen. */
export function useIsLoading() {
  return useSyncExternalStore(watch, () => awaited > 0);
}

/**
 * What is at a path, asked for again and again: { data, error, again }. `data` is null before the
 * first answer, and stays what it was while the master does not answer. A period of 0 asks once.
 */
export function usePolled(path, everyMs) {
  const [seen, setSeen] = useState({ path, data: null, error: null });
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    let live = true;
    let timer;
    let isFirst = seen.path !== path || seen.data === null;
    const answered = () => {
      if (isFirst) wait(-1);
      isFirst = false;
    };
    if (isFirst) wait(1);
    const ask = async () => {
      try {
        const data = await taken(path);
        if (live) setSeen({ path, data, error: null });
      } catch (error) {
        if (live) setSeen((old) => ({ path, data: old.path === path ? old.data : null, error }));
      }
      // What the answer brings to the page asks for its own part before this is told.
      setTimeout(answered, 20);
      // Nobody looks at a hidden page.
      if (live && everyMs) timer = setTimeout(ask, document.hidden ? 15 * everyMs : everyMs);
    };
    ask();
    return () => {
      live = false;
      answered();
      clearTimeout(timer);
    };
  }, [path, everyMs, turn]);
  const current = seen.path === path ? seen : { data: null, error: null };
  return { data: current.data, error: current.error, again };
}

/** The same of several paths: what is at each by its path, { data, error }. */
export function useAllPolled(paths, everyMs) {
  const [seen, setSeen] = useState({});
  const all = paths.join("\n");
  useEffect(() => {
    let live = true;
    const timers = new Map();
    const ask = async (path) => {
      const answer = await taken(path).then((data) => ({ data, error: null }), (error) => ({ error }));
      if (!live) return;
      setSeen((old) => ({ ...old, [path]: { data: null, ...old[path], ...answer } }));
      timers.set(path, setTimeout(ask, document.hidden ? 15 * everyMs : everyMs, path));
    };
    for (const path of all ? all.split("\n") : []) ask(path);
    return () => {
      live = false;
      timers.forEach(clearTimeout);
    };
  }, [all, everyMs]);
  return seen;
}

// The branches of a farm seldom change: all links of a page ask for them once.
let branches = null;

/** The names of the farm's branches, the first of them first; none before the master answers. */
export function useBranches() {
  const [known, setKnown] = useState([]);
  useEffect(() => {
    let live = true;
    branches ??= get("series").then((all) => branchesOf(all), () => {
      branches = null;
      return [];
    });
    branches.then((found) => live && setKnown(found));
    return () => {
      live = false;
    };
  }, []);
  return known;
}

/** The branches of a list of series, each once. */
export function branchesOf(allSeries) {
  return [...new Set(allSeries.map((series) => series.branch))];
}

/** What is at a path that changes while one moves about; null until one has stood still. */
export function useSettled(path) {
  const [seen, setSeen] = useState({ path: null, data: null });
  useEffect(() => {
    if (path === null) return undefined;
    let live = true;
    const timer = setTimeout(async () => {
      const data = await get(path).catch(() => null);
      if (live) setSeen({ path, data });
    }, 120);
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [path]);
  return seen.path === path ? seen.data : null;
}
