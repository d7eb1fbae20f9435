/** Begins with the tests that take longest, so that the last minutes of a run are not those of one of them alone. */
const longest = [
  "faults/every-fault.test.ts",
  "faults/mutants.test.ts",
  "faults/faults.test.ts",
  "lab/rehearsal/send.test.ts",
  "lab/rehearsal/agentcore.test.ts",
  "lab/rehearsal/lambda.test.ts",
  "lab/rehearsal/external.test.ts",
  "lab/rehearsal/broken.test.ts",
  "e2e/stories.test.ts",
  "e2e/kill.test.ts",
  "cli/command-line.test.ts",
  "lab/kills/real.test.ts",
  "lab/rehearsal/kills.test.ts",
  "execution/execution-worker.test.ts",
  "browser/operators.test.ts",
  "lab/load/aws/run-aws.test.ts",
  "hostile/hostile.test.ts",
  "conformance/honest.test.ts",
  "lab/load/load.test.ts",
  "verification/handlers/worker-handler.test.ts",
  "cdk/queues.test.ts",
  "cdk/app.test.ts",
  "cdk/zone-metrics.test.ts",
  "e2e/foreign-messages.test.ts",
  "conformance/cases.test.ts",
  "docs/cdk.test.ts",
  "cli/tasks/tasks.test.ts",
  "hostile/sinks.test.ts",
];

/** What jest asks of a sequencer (https://jestjs.io/docs/configuration#testsequencer-string). */
class LongestFirst {
  sort(tests) {
    return [...tests].sort((a, b) => rankOf(a) - rankOf(b) || (a.path < b.path ? -1 : 1));
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

function rankOf({ path }) {
  const rank = longest.findIndex((end) => path.endsWith(end));
  return rank === -1 ? longest.length : rank;
}

module.exports = LongestFirst;
