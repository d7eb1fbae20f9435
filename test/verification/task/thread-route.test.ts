/** Which route a task of a thread takes, as plain data. */
import { describe, expect, it } from "@jest/globals";
import type { Policy, UsableRoute } from "@sekisho/verification/task/routing.ts";
import type { Task, ThreadRoute } from "@sekisho/verification/task/task.ts";
import { decideRoute, mayReadAnswer } from "@sekisho/verification/task/thread-route.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { numberedAsk, samplePolicy, sampleRoute, sampleTask } from "./sample.ts";

const words: Record<string, string[]> = { a: ["x", "shared"], b: ["y", "shared"], c: ["z"] };

/** A route for each of the words, and one for everything else. */
function policyOf({
  sharing = [],
  known: knownNames = ["x", "y", "z", "shared", "rest"],
}: {
  sharing?: string[];
  known?: string[];
} = {}): Policy {
  const sample = samplePolicy();
  const [destination] = sample.destinations.values();
  if (destination === undefined) throw new Error("the sample has a destination");
  const routesByWord = ({ text }: Task["message"]): UsableRoute[] =>
    Object.entries(words).map(([word, destinations]) => {
      const isNamed = text.startsWith(`${word}:`);
      const sharesHistory = sharing.includes(word);
      return sampleRoute({
        key: word,
        destinations,
        hasWord: true,
        text: isNamed ? text : undefined,
        sharesHistory,
      });
    });
  return {
    ...sample,
    routesOf: (message) => [
      ...routesByWord(message),
      sampleRoute({ key: "rest", destinations: ["rest"], text: message.text }),
    ],
    destinations: new Map(knownNames.map((name) => [name, destination])),
  };
}

/** The nth message of a thread. */
function taskOf(n: number, text: string): Task {
  const { requestId, message } = numberedAsk(n, { ts: `${1_760_000_000 + n}.000100`, text });
  return { ...sampleTask(), id: requestId, message };
}

function decide(routes: readonly ThreadRoute[], task: Task, policy = policyOf()) {
  const decision = decideRoute({ routes, task, policy });
  if (decision === undefined) throw new Error("there is no route");
  return decision;
}

/** The routes of the thread after these messages. */
function routesAfter(...texts: string[]): readonly ThreadRoute[] {
  return texts.reduce<readonly ThreadRoute[]>(
    (routes, text, n) => decide(routes, taskOf(n, text)).routes,
    [],
  );
}

describe("the route of a task", () => {
  it("follows the message that chose the route, by the order of messages and not of their arrival", () => {
    const routes = routesAfter("a: first", "and?", "b: look");
    expect(routes.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(decide(routes, taskOf(1, "and?")).route.key).toBe("a");
    expect(decide(routes, taskOf(7, "and?")).route.key).toBe("b");
    const late = decide([decide([], taskOf(5, "b: look")).routes].flat(), taskOf(0, "first"));
    expect([late.route.key, late.routes.map(({ key }) => key)]).toEqual(["rest", ["rest", "b"]]);
  });

  it("chooses the route of an edited message afresh, as if it had chosen no route before", () => {
    const routes = routesAfter("a: first", "b: look");
    expect(decide(routes, taskOf(1, "look")).route.key).toBe("a");
    expect(decide(routes, taskOf(1, "look")).routes.map(({ key }) => key)).toEqual(["a"]);
    expect(decide(routesAfter("a: first"), taskOf(0, "first")).route.key).toBe("rest");
  });

  it("chooses the route of a retry by the edited text, and later messages follow the retry", () => {
    const retryOf = (n: number, text: string) => ({
      ...taskOf(n, text),
      ...{ id: `retry ${text}`, retryOf: taskOf(n, text).id },
    });
    const first = decide(routesAfter("a: first"), retryOf(0, "first"));
    expect([first.route.key, decide(first.routes, taskOf(1, "and?")).route.key]).toEqual([
      "rest",
      "rest",
    ]);
    expect(decide(first.routes, retryOf(0, "b: first")).route.key).toBe("b");
    const later = decide(routesAfter("a: first", "b: look"), retryOf(1, "look"));
    expect([later.route.key, decide(later.routes, taskOf(2, "and?")).route.key]).toEqual([
      "a",
      "a",
    ]);
    expect(decide(routesAfter("a: first"), retryOf(0, "a: first")).route.key).toBe("a");
  });

  it("keeps the route when the same message joins again", () => {
    const first = decide(routesAfter("a: first"), taskOf(1, "b: look"));
    expect(decide(first.routes, taskOf(1, "b: look"))).toEqual(first);
  });

  it("keeps the route when a message repeats the word of its thread", () => {
    const { route } = decide(routesAfter("a: first"), taskOf(1, "a: more"));
    expect(route).toEqual({ key: "a", destinations: ["x", "shared"] });
  });

  it("appends destinations that the route has gained since to those of the thread", () => {
    const routes = [
      { ...decide([], taskOf(0, "a: first")).routes[0], destinations: ["shared"] },
    ] as ThreadRoute[];
    expect(decide(routes, taskOf(1, "and?")).route.destinations).toEqual(["shared", "x"]);
  });

  it("keeps only the destinations of the thread once its route leads elsewhere", () => {
    const [firstRoute] = routesAfter("a: first");
    const routes = [{ ...firstRoute, destinations: ["z"] }] as ThreadRoute[];
    expect(decide(routes, taskOf(1, "and?")).route.destinations).toEqual(["z"]);
    const decision = decide(
      routes,
      taskOf(1, "and?"),
      policyOf({ known: ["x", "shared", "rest"] }),
    );
    expect(decision.route).toMatchObject({ key: "rest", change: { reason: "gone", isAnew: true } });
  });

  it("keeps the route of a message once the route leads elsewhere and reports no change", () => {
    const [firstRoute] = decide([], taskOf(0, "first")).routes;
    const routes = [{ ...firstRoute, destinations: ["z"] }] as ThreadRoute[];
    expect(decide(routes, taskOf(0, "first"))).toEqual({
      routes,
      route: { key: "rest", destinations: ["z"] },
    });
    const decision = decide(routes, taskOf(0, "first"), policyOf({ known: ["rest"] }));
    expect(decision.route).toEqual({ key: "rest", destinations: ["rest"] });
  });

  it("uses the route of a later message that was handled first, even once the route leads elsewhere", () => {
    const [firstRoute] = decide([], taskOf(5, "and?")).routes;
    const routes = [{ ...firstRoute, destinations: ["z"] }] as ThreadRoute[];
    const late = decide(routes, taskOf(0, "first"));
    expect(late).toEqual({ routes, route: { key: "rest", destinations: ["z"] } });
    expect(decide(routes, taskOf(0, "a: first")).route).toMatchObject({ key: "a" });
  });

  it("gives the route of the thread's first message to later ones, even if one of them came first", () => {
    const early = decide([], taskOf(1, "and?"));
    const { routes } = decide(early.routes, taskOf(0, "a: first"));
    expect(decide(routes, taskOf(2, "and why?")).route.key).toBe("a");
    // The early message waits, and looks for its place again.
    expect(decide(routes, taskOf(1, "and?")).route.key).toBe("a");
    const namedDecision = decide([], taskOf(1, "b: look"));
    const both = decide(namedDecision.routes, taskOf(0, "a: first")).routes;
    expect(decide(both, taskOf(2, "and why?")).route.key).toBe("b");
  });

  it("limits the number of remembered routes and keeps the first one", () => {
    const texts = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? "a: x" : "b: x"));
    const routes = routesAfter("c: first", ...texts);
    expect(routes).toHaveLength(10);
    expect(routes[0]?.key).toBe("c");
  });
});

describe("an agent", () => {
  it("reads answers of its route's destinations, but no unmarked answers of another route", () => {
    const { route } = decide(routesAfter("a: first"), taskOf(1, "b: look"));
    expect(["x", "shared", "y", undefined].map((name) => mayReadAnswer(route, name))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const back = decide(routesAfter("a: first", "b: look"), taskOf(2, "a: again"));
    expect(["x", "y", undefined].map((name) => mayReadAnswer(back.route, name))).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("reads the answers of a route that shares its history", () => {
    const { route } = decide(
      routesAfter("a: first"),
      taskOf(1, "b: look"),
      policyOf({ sharing: ["a"] }),
    );
    expect(["x", "y", undefined].map((name) => mayReadAnswer(route, name))).toEqual([
      true,
      true,
      true,
    ]);
    expect(route.change).toEqual({ reason: "named", isAnew: false });
  });

  it("never reads an answer of a destination outside its route", () => {
    const anyText = fc.constantFrom("a: 1", "b: 2", "c: 3", "4");
    forAll(fc.array(anyText, { maxLength: 15 }), anyText).hold((texts, text) => {
      const { route } = decide(routesAfter(...texts), taskOf(texts.length, text));
      const own = words[route.key] ?? ["rest"];
      for (const name of ["x", "y", "z", "shared", "rest"])
        expect(mayReadAnswer(route, name)).toBe(own.includes(name));
      expect(route.destinations).toEqual(own);
    });
  });
});
