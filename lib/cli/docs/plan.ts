/** Which documents the site has, in which groups and in which order. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/** `source` is below the project's root, `target` below the site's. */
export type PlannedPage = { source: string; target: string; group: string };

const groups: Record<string, string[]> = {
  Begin: ["README.md", "docs/start.md", "docs/slack.md", "docs/deploy.md"],
  Agents: ["docs/agent.md", "docs/execution-zone.md", "docs/move.md", "docs/conformance.md", "docs/a2a.md"],
  Operate: ["docs/operations.md", "docs/upgrade.md", "docs/release.md", "CHANGELOG.md"],
  Promises: ["docs/security.md", "docs/reliability.md"],
  Background: ["docs/architecture.md", "docs/bench.md", "docs/dependencies.md", "docs/decisions/README.md"],
};

/** Every document is in it: one that no group names stands under "More", a decision under "Decisions". */
export function planPages(root: string): PlannedPage[] {
  const named = Object.entries(groups).flatMap(([group, sources]) => sources.map((source) => ({ group, source })));
  const isNamed = (source: string) => named.some((page) => page.source === source);
  const found = globSync(["docs/*.md", "docs/decisions/*.md"], { cwd: root })
    .sort()
    .filter((source) => !isNamed(source));
  const others = found.map((source) => ({
    group: source.startsWith("docs/decisions/") ? "Decisions" : "More",
    source,
  }));
  const byGroup = (group: string) => others.filter((page) => page.group === group);
  return [...named, ...byGroup("More"), ...byGroup("Decisions")]
    .filter(({ source }) => existsSync(join(root, source)))
    .map((page) => ({ ...page, target: targetOf(page.source) }));
}

function targetOf(source: string): string {
  return source
    .replace(/^docs\//, "")
    .replace(/README\.md$/, "index.html")
    .replace(/\.md$/, ".html")
    .toLowerCase();
}
