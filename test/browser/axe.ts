/** Checks a page for what keeps people with disabilities from using it, with axe-core. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** Lists each finding, with the elements that it is about. The page's policy allows no script of others, so it is evaluated. */
export async function listAxeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const options = { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } };
  const results = await page.evaluate<axe.AxeResults>(
    `axe.run(document, ${JSON.stringify(options)})`,
  );
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
