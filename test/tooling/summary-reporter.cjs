/**
 * Jest reporter: the last line of a run is `N passed, N failed` (a suite that did not load counts as one failure). A title that does not
 * begin like a sentence fails the run.
 */
const badBeginning =
  /^(?:that|of|where|with|without|whatever|whoever|what|when|if|in|and|is|are|was|were|have)\b/i;

module.exports = class SummaryReporter {
  badTitles = [];

  onTestResult({ path }, { testResults }) {
    for (const { title } of testResults)
      if (badBeginning.test(title)) this.badTitles.push(`${path}: ${title}`);
  }

  onRunComplete(_contexts, results) {
    for (const title of this.badTitles)
      process.stderr.write(`Not a sentence (CONTRIBUTING.md, Test): ${title}\n`);
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed + this.badTitles.length} failed`;
    process.stderr.write("", () => process.stdout.write(`${line}\n`));
  }

  getLastError() {
    if (this.badTitles.length > 0)
      return new Error(`${this.badTitles.length} titles are no sentences`);
  }
};
