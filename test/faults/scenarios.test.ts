/** The runs in which the product failed once, each with its faults addressed by what they hit. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Ended, faults } from "./command.ts";
import { scenarios } from "./scenarios.ts";

describe("a run in which the product failed once", () => {
  let results: Ended;

  /** One process plays them all. */
  beforeAll(async () => {
    results = await faults("--scenario", "all");
  });

  it.each(scenarios.map(({ name }) => name))(
    "keeps the guarantees in the scenario %s, in which every fault strikes",
    (name) => {
      expect(results.stderr).toBe("");
      const scenarioText = results.stdout
        .split(/^(?=SCENARIO )/m)
        .find((text) => text.startsWith(`SCENARIO ${name}:`));
      expect(scenarioText).toMatch(/^SCENARIO \S+: .+\nholds\n/);
    },
  );

  it("gives each scenario a unique name", () => {
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });
});

describe("the command", () => {
  it("prints one scenario step by step", async () => {
    const { stdout, code } = await faults("--scenario", "answer-lands-late");
    expect(stdout).toMatch(/slack\.post +answer 0 of #1 +<== slow/);
    expect(stdout).toMatch(/\nholds\n/);
    expect(code).toBe(0);
  });

  it("refuses an unknown scenario name", async () => {
    const { stderr, code } = await faults("--scenario", "nowhere");
    expect(stderr).toContain('There is no scenario "nowhere": there are follow-up-');
    expect(code).toBe(2);
  });
});
