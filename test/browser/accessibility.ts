/** What axe finds on a page: the rules of WCAG 2.2, the size of targets among them, and its best practices. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Runs in the browser. Each finding is a rule with the elements that break it. */
const listFindings = `axe
  .run(document, { rules: { "target-size": { enabled: true } } })
  .then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")),
  )`;

export async function findAxeViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  return (await page.evaluate(listFindings)) as string[];
}
