/**
 * Jest reporter: the last line of a run is `N passed, N failed` (a suite that did not load counts as one failure). A title that does not
 * begin like a sentence fails the run, also that of a table's row, and a `describe` text that does not begin like the name of a thing.
 */
const words =
  "that|of|where|with|without|whatever|whoever|who|what|when|why|if|in|and|is|are|was|were|have";
const badBeginning = new RegExp(`^(?:${words})\\b`, "i");

module.exports = class SummaryReporter {
  badTitles = new Set();

  onTestResult({ path }, { testResults }) {
    for (const { title, ancestorTitles } of testResults)
      for (const text of [title, ...ancestorTitles])
        if (badBeginning.test(text)) this.badTitles.add(`${path}: ${text}`);
  }

  onRunComplete(_contexts, results) {
    for (const title of this.badTitles)
      process.stderr.write(`Not a sentence (CONTRIBUTING.md, Test): ${title}\n`);
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed + this.badTitles.size} failed`;
    process.stderr.write("", () => process.stdout.write(`${line}\n`));
  }

  getLastError() {
    if (this.badTitles.size > 0) return new Error(`${this.badTitles.size} titles are no sentences`);
  }
};
