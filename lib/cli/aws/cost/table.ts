/** Formats the estimate as Markdown, which reads well on a terminal too. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../command.ts";
import { type Estimate, formatSeconds, installAlarmMetrics, stageItems } from "./estimate.ts";
import { type MeasuredKind, services } from "./task-cost.ts";

export function costTable({
  headline,
  scenario,
  months,
  lengths,
  assumptions,
  priceList,
}: Estimate): string {
  const { tasks, taskSeconds, idleSeconds, syncBudgetMs } = scenario;
  const kinds = months.map(({ kind }) => kind);
  const taskRows = services.map((name) => [
    name,
    ...months.map(({ taskDollars }) => dollars(taskDollars[name])),
  ]);
  const stageRows = stageItems.map((name) => [
    name,
    ...months.map(({ stageDollars }) => dollars(stageDollars[name])),
  ]);
  const metricRow = [
    "Custom metrics",
    ...months.map(({ metricDollars }) => dollars(metricDollars)),
  ];
  const yearRows = ["year 1", "year 2", "year 3 and later"].map((name, year) => [
    name,
    ...months.map(({ yearsDollars }) => dollars(yearsDollars[year] ?? 0)),
  ]);
  const total = ["**Total**", ...months.map(({ totalDollars }) => `**${dollars(totalDollars)}**`)];
  const actions = [
    ...new Set(months.flatMap(({ callsPerTask }) => Object.keys(callsPerTask))),
  ].sort();
  const callRows = actions.map((name) => [
    `\`${name}\``,
    ...months.map(({ callsPerTask }) => count(callsPerTask[name] ?? 0)),
  ]);
  const allKinds: MeasuredKind[] = ["agentcore", "lambda", "external"];
  return [
    headline,
    `Dollars a month for ${tasks.toLocaleString("en-US")} tasks of ${formatSeconds(taskSeconds)}, each in a thread of its own. The first call waits ${syncBudgetMs.toLocaleString("en-US")} ms at most for the result (\`execution.syncBudgetMs\`). From the alarms on, the rows are the same without any task:`,
    table(["service", ...kinds], [...taskRows, metricRow, ...stageRows, total]),
    "Dollars a month without any task. KMS keys are rotated every year, and AWS charges for the first two rotations:",
    table(["stage", ...kinds], yearRows),
    `Dollars for one task by its length, with an AgentCore session that idles for ${idleSeconds} s afterwards. A dash: the task is too long for this kind.`,
    table(
      ["task takes", ...allKinds.flatMap((kind) => [kind, "polls"])],
      lengths.map(({ taskSeconds: seconds, costs }) => [
        formatSeconds(seconds),
        ...allKinds.flatMap((kind) => {
          const cost = costs[kind];
          return cost === undefined ? ["–", "–"] : [cost.dollars.toFixed(6), count(cost.polls)];
        }),
      ]),
    ),
    `AWS calls and log lines of one task of ${formatSeconds(taskSeconds)}:`,
    table(
      ["call", ...kinds],
      [
        ["polls", ...months.map(({ polls }) => count(polls))],
        ...callRows,
        ["bytes of log lines", ...months.map(({ logBytesPerTask }) => count(logBytesPerTask))],
      ],
    ),
    "Assumed, because neither a template nor the rehearsal can say it:",
    table(
      ["value", "what"],
      Object.values(assumptions).map(({ value, unit, what }) => [`${value} ${unit}`, what]),
      "---",
    ),
    `Prices of ${priceList.region}, ${priceList.asOf}, without free tiers and discounts:`,
    table(
      ["price", "of", "published at"],
      Object.values(priceList.prices).map(({ usd, per, unit, source }) => [
        `$${usd}${per === 1 ? "" : ` per ${per.toLocaleString("en-US")}`}`,
        unit,
        source,
      ]),
      "---",
    ),
    `Not included: ${notIncluded.join("; ")}.`,
  ].join("\n\n");
}

const notIncluded = [
  "the model's tokens, which can cost more than all of this",
  "data transfer; a NAT gateway, because no function is in a VPC",
  "log storage ($0.03 per GB and month, compressed) and log queries",
  "spans, files, questions, quotas, and retries after failures",
  "the pushes of progress (a message and a poll for every ten seconds in which a task reports it, and a poll a second while an answer is written)",
  "messages in the bot's channels that do not ask it anything (one API request and one invocation each)",
  "metrics that appear only when something fails, and a fourth dashboard of the account",
  "a secret for each workspace that installs the app ($0.40 a month)",
  `${installAlarmMetrics} more alarms where people can install the app`,
];

/** Every column but the first is aligned as numbers, unless `ruler` says otherwise. */
function table(head: string[], rows: string[][], ruler = "---:"): string {
  const rulers = ["---", ...head.slice(1).map(() => ruler)];
  return [head, rulers, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function count(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function dollars(value: number): string {
  return value < 0.005 && value > 0 ? "<0.01" : value.toFixed(2);
}

/** The part of docs/explanation/costs.md between these markers is generated. */
const begin = "<!-- cost: written by sekisho cost --markdown -->";
const end = "<!-- cost: end -->";

/** Returns the file's path. */
export function writeSection({ directory, table }: { directory: string; table: string }): string {
  const path = join(directory, "docs", "explanation", "costs.md");
  writeFileSync(path, withSection({ text: readText(path), table }));
  return path;
}

export function withSection({ text, table }: { text: string; table: string }): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from)
    throw new UsageError(`docs/explanation/costs.md lacks the markers ${begin} and ${end}.`);
  return `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UsageError(
      "There is no docs/explanation/costs.md here: --markdown is for the project's own folder.",
    );
  }
}
