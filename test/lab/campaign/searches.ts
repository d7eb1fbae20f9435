/** The random searches of one day, as commands. Pure. */

export type Wishes = {
  seed: number;
  propertySeconds: number;
  simulationSeconds: number;
  textSeconds: number;
};
export type Search = {
  what: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
};

const dayMs = 24 * 3600_000;
const faults = ["--max-semi-space-size=64", "test/faults/run.ts"];
const pairs = [
  ...faults,
  "--exhaustive",
  "two",
  "--story",
  "sync",
  "--story",
  "accepted",
  "--part",
];

/** The searches of one list run at the same time. `propertyFiles`: the tests with properties. */
export function searchesOf(
  { seed, propertySeconds, simulationSeconds, textSeconds }: Wishes,
  { propertyFiles, nowMs }: { propertyFiles: readonly string[]; nowMs: number },
): readonly (readonly Search[])[] {
  const env = {
    SEKISHO_PROPERTY_SEED: String(seed),
    SEKISHO_PROPERTY_SECONDS: String(propertySeconds),
  };
  // A test may hold several properties, one after the other.
  const jest = [
    "node_modules/jest/bin/jest.js",
    "--maxWorkers=2",
    `--testTimeout=${(60 + 10 * propertySeconds) * 1000}`,
  ];
  const properties = { what: `properties, seed ${seed}`, args: [...jest, ...propertyFiles], env };
  const chance = [seed, 1_000_000_000 - seed].map((own) => ({
    what: `simulation, seed ${own}`,
    args: [
      ...faults,
      "--runs",
      "999999999",
      "--seconds",
      String(simulationSeconds),
      "--seed",
      String(own),
    ],
    env: {},
  }));
  const ofToday = partsOf(nowMs).map((part) => ({
    what: `every two faults, part ${part}`,
    args: [...pairs, part],
    env: {},
  }));
  const slowTexts = {
    what: `slow texts, seed ${seed}`,
    args: [
      "test/lab/campaign/slow-texts.ts",
      "--seed",
      String(seed),
      "--seconds",
      String(textSeconds),
    ],
    env: {},
  };
  // It measures, so nothing runs beside it.
  return [[properties], chance, ofToday, [slowTexts]];
}

/** Two of 24 parts: every pair within twelve days. */
function partsOf(nowMs: number): string[] {
  const day = Math.floor(nowMs / dayMs) % 12;
  return [1, 2].map((half) => `${2 * day + half}/24`);
}
