/** Tests run the TypeScript files as they are, through esbuild, as CommonJS (see docs/decisions/0001-runtime-and-tests.md). */
import { join } from "node:path";

// Many tests start processes: what one of them has compiled the next one loads.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/** Packages that come as ES modules only. */
const moduleOnly =
  "jose|marked|oauth4webapi|file-type|strtok3|token-types|uint8array-extras|@tokenizer/inflate|@borewit/text-codec";

/**
 * The lab: searches, campaigns, whole processes, deployments and documents, which take minutes each (`npm run test:lab`). Everything else
 * is run before each commit (`npm test`).
 */
const lab = [
  "browser/{layout,operators}",
  "cdk/{app,modes,queues,slack-entry,zone-metrics}",
  "cli/{command-line,doctor/send,dot-env,data/data}",
  "cli/{tasks/tasks,usage/usage}",
  "conformance/{cases,honest}",
  "costs/**",
  "docs/**",
  "e2e/{floods,foreign-messages,kill,stories}",
  "examples/**",
  "faults/{every-fault,mutants,versions}",
  "hostile/**",
  "lab/**",
  "local/{author/agent-errors,watch/watch}",
].map((path) => `**/test/${path.replace(/\*\*$/, "**/*")}.test.ts`);

const project = {
  testEnvironment: "node",
  extensionsToTreatAsEsm: [],
  transform: {
    [`\\.ts$|/node_modules/(${moduleOnly})/.+\\.js$`]:
      "<rootDir>/test/tooling/esbuild-transform.cjs",
  },
  transformIgnorePatterns: [`/node_modules/(?!(${moduleOnly})/)`],
  // A property has a fixed seed and bounds.
  moduleNameMapper: { "^fast-check$": "<rootDir>/test/tooling/fast-check.ts" },
  modulePathIgnorePatterns: [
    "<rootDir>/cdk.out",
    "<rootDir>/.sekisho",
    "<rootDir>/test/lab/node_modules",
    "<rootDir>/test/lab/frameworks/node_modules",
    "<rootDir>/test/lab/peers",
  ],
};

export default {
  projects: [
    {
      ...project,
      displayName: "core",
      testMatch: ["<rootDir>/test/**/*.test.ts", ...lab.map((path) => `!${path}`)],
    },
    { ...project, displayName: "lab", testMatch: lab },
  ],
  reporters: ["default", "<rootDir>/test/tooling/summary-reporter.cjs"],
  testSequencer: "<rootDir>/test/tooling/longest-first.cjs",
  // Two processors, and workers that mostly wait for the processes that their tests start.
  maxWorkers: 4,
  // Suites leave memory behind, and a worker of two gigabytes needs so long to exit that Jest takes it for one that hangs.
  workerIdleMemoryLimit: "800MB",
  // It only ends a test that hangs, early enough for `.ci/run` to name it: how fast a machine is decides no test.
  testTimeout: 1_800_000,
};
