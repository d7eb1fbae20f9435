/**
 * Decides the route of a task in its thread. The thread's first task decides it by its message, and later ones follow it, so that an
 * agent's answers reach no other agent unasked. The thread changes its route if a message names another one by its word, or if its
 * route no longer exists for the person, or has no destination left.
 */
import type { EventOf } from "./events.ts";
import { matchRoute, type Policy, type UsableRoute, withDestination } from "./routing.ts";
import type { Task, TaskRoute, ThreadRoute } from "./task.ts";
import { tsOf } from "./thread.ts";

/** The first one says whose the answers of older versions are, and the others which route a late message follows. */
const maxRoutes = 10;

type Decision = {
  route: TaskRoute;
  /** The routes of the thread, with the one that the task chose. */
  routes: readonly ThreadRoute[];
};

/**
 * Returns undefined if no route fits. `routes` are those of the thread so far. A route that the task itself has chosen counts only if it
 * would choose it again, because its message may have been edited since.
 */
export function decideRoute(request: {
  routes: readonly ThreadRoute[];
  task: Task;
  policy: Policy;
}): Decision | undefined {
  const { task, policy } = request;
  const ts = tsOf(task);
  const usable = policy.routesOf(task.message);
  const matching = matchRoute(usable);
  const others = request.routes.filter(({ by }) => by !== task.id);
  // Not those of the same message, which an earlier try of a retry has chosen.
  const earlier = others.findLast(({ by, ts: atTs }) => by !== nobody && Number(atTs) < Number(ts));
  // The task has joined before, or a later message has. If the route has moved since, the thread stays together.
  const current = earlier ?? request.routes.find(({ key }) => key === matching?.key);
  const isNamed = matching?.hasWord === true && matching.key !== current?.key;
  const remaining =
    current === undefined || isNamed ? [] : remainingDestinations({ current, usable, policy });
  if (current !== undefined && remaining.length > 0) {
    const chosenRoutes = others.includes(current) ? others : request.routes;
    const routes =
      earlier === undefined
        ? chosenRoutes
        : chosenRoutes.filter((route) => Number(route.ts) !== Number(ts));
    const reading = findReadable({ routes, current, destinations: remaining, usable });
    return { routes, route: { key: current.key, destinations: remaining, ...reading } };
  }
  if (matching === undefined) return undefined;
  const { key, destinations: names } = matching;
  const destinations = [...names];
  const chosenRoute: ThreadRoute = { key, destinations, ts, by: task.id };
  const all = [...dropHastyRoutes({ routes: others, task, usable }), chosenRoute].sort(
    (a, b) => Number(a.ts) - Number(b.ts),
  );
  const reading = findReadable({ routes: all, current: chosenRoute, destinations, usable });
  const readable = [...destinations, ...(reading.alsoReads ?? [])];
  const isAnew = !others.every((route) =>
    route.destinations.every((name) => readable.includes(name)),
  );
  return {
    routes: all.length > maxRoutes ? [...all.slice(0, 1), ...all.slice(1 - maxRoutes)] : all,
    route: {
      ...{ key, destinations, ...reading },
      ...(earlier && { change: { reason: isNamed ? "named" : "gone", isAnew } }),
    },
  };
}

/** Leaves out the routes of later messages that named none, and chose one only because they were handled before this task. */
function dropHastyRoutes(request: {
  routes: readonly ThreadRoute[];
  task: Task;
  usable: readonly UsableRoute[];
}): readonly ThreadRoute[] {
  const { routes, task, usable } = request;
  if (task.retryOf !== undefined) return routes;
  const namedKeys = usable.flatMap(({ key, hasWord }) => (hasWord ? [key] : []));
  return routes.filter(
    ({ key, ts }) => Number(ts) <= Number(tsOf(task)) || namedKeys.includes(key),
  );
}

/** Sets the position, the route and its first destination. Returns undefined if there is no route. */
export function placeInThread(
  task: Task,
  { queuePosition, routes }: EventOf<"thread_joined">,
  policy: Policy,
): Task | undefined {
  const route = decideRoute({ routes, task, policy })?.route;
  const to = route?.destinations.find((name) => policy.destinations.has(name));
  if (route === undefined || to === undefined) return undefined;
  return withDestination({ ...task, queuePosition, route }, { to, policy });
}

/**
 * Returns the destinations at which the thread is, as far as they exist, also after the route was moved elsewhere. What the route has got
 * beside them comes after them. Returns none if the person may not use the route any more.
 */
function remainingDestinations(request: {
  current: ThreadRoute;
  usable: readonly UsableRoute[];
  policy: Policy;
}): string[] {
  const { current, usable, policy } = request;
  const route = usable.find(({ key }) => key === current.key);
  if (route === undefined) return [];
  const present = current.destinations.filter((name) => policy.destinations.has(name));
  const isMoved = !present.some((name) => route.destinations.includes(name));
  return isMoved ? present : [...new Set([...present, ...route.destinations])];
}

/** Answers of the current route may be read, and those of routes that share their history. */
function findReadable(request: {
  routes: readonly ThreadRoute[];
  current: ThreadRoute;
  destinations: readonly string[];
  usable: readonly UsableRoute[];
}): Pick<TaskRoute, "alsoReads" | "omitsUnmarked"> {
  const { routes, current, destinations, usable } = request;
  const sharing = usable.flatMap(({ key, sharesHistory }) => (sharesHistory ? [key] : []));
  const sharedDestinations = routes
    .filter(({ key }) => sharing.includes(key))
    .flatMap((route) => route.destinations);
  const readable = new Set([...destinations, ...current.destinations, ...sharedDestinations]);
  const alsoReads = [...readable].filter((name) => !destinations.includes(name));
  const [first = current] = routes;
  const omitsUnmarked = !first.destinations.every((name) => readable.has(name));
  return { ...(alsoReads.length > 0 && { alsoReads }), ...(omitsUnmarked && { omitsUnmarked }) };
}

/**
 * True if the task's agent may read an answer of the destination. Without `destination` it is an answer of version 1.0.0, which does not say
 * whose it is.
 */
export function mayReadAnswer(
  route: TaskRoute | undefined,
  destination: string | undefined,
): boolean {
  if (route === undefined) return true;
  if (destination === undefined) return route.omitsUnmarked === undefined;
  return (
    route.destinations.includes(destination) || route.alsoReads?.includes(destination) === true
  );
}

/** Stands for the unknown message that chose a route. No message follows such a route. */
const nobody = "";

/**
 * Returns the route of a thread whose record is of version 1.0.0 or has expired, by the destination of its first task. If that is not
 * known, the earlier answers may be of any destination, so that only an agent that may read them all gets them.
 */
export function routeOfFirstTask(first: Task | undefined, policy: Policy): ThreadRoute {
  if (first?.call === undefined)
    return { key: nobody, destinations: [...policy.destinations.keys()], ts: "0", by: nobody };
  const { call, message, id } = first;
  const usable = policy.routesOf(message);
  const fitting = usable.filter(({ destinations }) => destinations.includes(call.destination));
  // If the route leads elsewhere by now, the thread stays where it is.
  const { key = nobody } = matchRoute(fitting) ?? fitting[0] ?? matchRoute(usable) ?? {};
  return { key, destinations: [call.destination], ts: tsOf(first), by: id };
}
