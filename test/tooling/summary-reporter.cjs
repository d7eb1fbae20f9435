/** Jest reporter: the last line of a run is `N passed, N failed` (a suite that did not load counts as one failure). */
module.exports = class SummaryReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed`;
    process.stderr.write("", () => process.stdout.write(`${line}\n`));
  }
};
