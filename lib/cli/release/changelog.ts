/** Reads and checks CHANGELOG.md, which has the form of Keep a Changelog. */
import { compareVersions, parseVersion } from "./contract.ts";

export type Section = {
  /** A version, or `Unreleased`. */
  title: string;
  /** Such as 2026-11-22. */
  date: string | undefined;
  /** The text below the heading, trimmed. */
  text: string;
};

const unreleased = "Unreleased";
const kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

export function readSections(changelog: string): Section[] {
  const [, ...parts] = changelog.split(/^(?=## )/m);
  return parts.map((part) => {
    const [heading = "", ...lines] = part.split("\n");
    const [, title = heading, date] =
      /^## \[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?$/.exec(heading) ?? [];
    return { title, date, text: lines.join("\n").trim() };
  });
}

export function changelogProblems(sections: readonly Section[]): string[] {
  const problems = sections.flatMap((section) => problemsOf(section));
  const versions = sections
    .map(({ title }) => title)
    .filter((title) => parseVersion(title) !== undefined);
  if (sections.some(({ title }, index) => title === unreleased && index > 0))
    problems.push(`[${unreleased}] is not the first section`);
  const isSorted = versions.every(
    (version, index) => index === 0 || compareVersions(versions[index - 1] ?? "", version) > 0,
  );
  if (!isSorted) problems.push("the versions are not sorted, newest first");
  const dates = sections.flatMap(({ date }) => date ?? []);
  if (dates.some((date, index) => index > 0 && date > (dates[index - 1] ?? "")))
    problems.push("the dates are not sorted, newest first");
  return problems.map((problem) => `CHANGELOG.md: ${problem}.`);
}

function problemsOf({ title, date, text }: Section): string[] {
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading = ""]) => heading);
  const unknown = headings.filter((heading) => !kinds.includes(heading));
  const ofKinds = unknown.map(
    (heading) => `[${title}] has a part "${heading}", which is not one of ${kinds.join(", ")}`,
  );
  if (title === unreleased) return ofKinds;
  if (parseVersion(title) === undefined)
    return [`"${title}" is neither [${unreleased}] nor a version in brackets`];
  const isDate = date !== undefined && new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date);
  return [
    ...ofKinds,
    ...(isDate ? [] : [`[${title}] has no date, such as "## [${title}] - 2026-01-31"`]),
    ...(text === "" ? [`[${title}] is empty`] : []),
  ];
}

/** Lists why this changelog keeps `version` from being released. */
export function releaseProblems({
  sections,
  version,
}: {
  sections: readonly Section[];
  version: string;
}): string[] {
  const waiting = sections.find(({ title }) => title === unreleased);
  const [top] = sections.filter((section) => section !== waiting);
  if (top?.title !== version) {
    const remedy = `Write "## [${version}] - DATE" above what is new in it`;
    return [
      `CHANGELOG.md: the newest version is ${top?.title ?? "none"}, but package.json has ${version}. ${remedy}.`,
    ];
  }
  if (waiting === undefined || waiting.text === "") return [];
  return [
    `CHANGELOG.md: [${unreleased}] is not empty. Raise the version in package.json, and give [${unreleased}] that version as its heading.`,
  ];
}

/** The text that is published with a version. Its links start at the repository's root. */
export function releaseNotes({
  sections,
  version,
}: {
  sections: readonly Section[];
  version: string;
}): string {
  const section = sections.find(({ title }) => title === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section [${version}].`);
  return `# Sekisho ${version}\n\n${section.date ?? ""}\n\n${section.text}\n`;
}
