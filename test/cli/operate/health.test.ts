import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { EffectiveConfig } from "@sekisho/sekisho/destinations/effective-config.ts";
import { createHealthBoard, type HealthBoard } from "@sekisho/sekisho/operate/health.ts";

const json = {
  destinations: {
    here: { transport: "https" },
    far: {
      transport: "https",
      url: "https://far.example/",
      authorizer: { type: "bearer", token: { env: "T" } },
    },
  },
  routes: [{ word: "far", destination: ["far", "here"] }, { destination: "here" }],
};
const effective: EffectiveConfig = {
  config: parseConfig({ json }),
  named: undefined,
  notDeployed: ["far"],
  routesFromFile: true,
  outdated: [],
};

let board: HealthBoard;
let nowMs: number;
let reads: number;
let unreadable: boolean;
let checked: string[];
beforeEach(() => {
  [nowMs, reads, unreadable, checked] = [1_000_000, 0, false, []];
  board = createHealthBoard({
    async read() {
      reads += 1;
      if (unreadable) throw new Error("AWS refuses.");
      return effective;
    },
    async check({ name }) {
      checked.push(name);
      return {
        name,
        address: "there",
        health: name === "far" ? "unreachable" : "healthy",
        summary: "Words.",
      };
    },
    own: { address: "http://127.0.0.1:8080/" },
    now: () => nowMs,
  });
});

describe("the health of destinations", () => {
  it("checks the destinations at the first view, and shows their health at the next", async () => {
    const first = await board.view();
    expect(first.destinations).toMatchObject([
      { name: "here", checking: true },
      { name: "far", checking: true },
    ]);
    expect(first.destinations[0]?.health).toBeUndefined();
    const second = await board.view();
    expect(second).toMatchObject({
      destinations: [
        {
          name: "here",
          address: "http://127.0.0.1:8080/",
          checking: false,
          health: { health: "healthy" },
        },
        {
          name: "far",
          needsDeploy: true,
          checkedAtMs: nowMs,
          health: { health: "unreachable", summary: "Words." },
        },
      ],
      routes: [
        { position: 1, fits: '"far: ..."', leads: "far, then here" },
        { position: 2, fits: "every message", leads: "here" },
      ],
    });
  });

  it("checks the health and reads the configuration once a minute, for any number of views", async () => {
    for (let look = 0; look < 5; look += 1) await board.view();
    expect({ checked, reads }).toEqual({ checked: ["here", "far"], reads: 1 });
    nowMs += 60_000;
    await board.view();
    expect({ checked: checked.length, reads }).toEqual({ checked: 4, reads: 2 });
  });

  it("checks the health again on request, but not twice within five seconds", async () => {
    await board.view();
    await board.check(["far"]);
    expect(checked).toHaveLength(2);
    nowMs += 5000;
    await board.check(["far", "unknown"]);
    expect(checked).toEqual(["here", "far", "far"]);
    await board.check(undefined);
    expect(checked).toEqual(["here", "far", "far", "here"]);
  });

  it("reads the configuration again at the next view after a failure", async () => {
    unreadable = true;
    await expect(board.view()).rejects.toThrow("AWS refuses.");
    unreadable = false;
    expect((await board.view()).destinations).toHaveLength(2);
  });
});
