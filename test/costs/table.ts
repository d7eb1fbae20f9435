/** The tables of docs/explanation/costs.md. */

import { defaultIdleSeconds } from "@sekisho/config/agentcore-session.ts";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { assumptions } from "./assumptions.ts";
import { estimate, installAlarmMetrics, stageItems } from "./estimate.ts";
import { priceList } from "./prices.ts";
import { type MeasuredKind, services } from "./task-cost.ts";

const scenario = { tasks: 100_000, taskSeconds: 30 };

function costTables(): string {
  const { tasks, taskSeconds } = scenario;
  const { months, lengths } = estimate(scenario);
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
  const allKinds: MeasuredKind[] = ["agentcore", "lambda", "external"];
  return [
    `Dollars a month for ${tasks.toLocaleString("en-US")} tasks of ${formatSeconds(taskSeconds)}, each in a thread of its own. The first call waits ${defaultSyncBudgetMs.toLocaleString("en-US")} ms at most for the result (\`execution.syncBudgetMs\`). The rows above the custom metrics grow with the tasks. From the alarms on, the rows are the same without any task:`,
    table(["service", ...kinds], [...taskRows, metricRow, ...stageRows, total]),
    "Dollars a month without any task. KMS keys are rotated every year, and AWS charges for the first two rotations:",
    table(["stage", ...kinds], yearRows),
    `Dollars for one task by its length, with an AgentCore session that idles for ${defaultIdleSeconds} s afterwards. A dash: the task is too long for this kind.`,
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
    `Assumed, because neither a template nor the rehearsal can say it: ${assumed.join("; ")}. \`test/costs/assumptions.ts\` has every value. The calls of a task are measured (\`test/costs/measured-calls.json\`).`,
    `Prices of ${priceList.region}, ${priceList.asOf}, without free tiers and discounts: \`test/costs/prices.ts\` has each with the page of AWS.`,
    `Not included: ${notIncluded.join("; ")}.`,
  ].join("\n\n");
}

const a = assumptions;
const assumed = [
  `${a.stepMs.value} ms for a message of the worker without waiting for the agent`,
  `${a.pollMs.value} ms for a poll`,
  `${a.pushedPollAfterMs.value / 1000} s before a poll of an Execution zone on AWS, which also pushes the end, and ${a.pollAfterMs.value / 1000} s before the first poll elsewhere`,
  `${a.agentcoreGb.value} GB and ${a.agentcoreVcpu.value} vCPU for an AgentCore session`,
  `${a.recordKb.value} KB for a task's record`,
];

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

function formatSeconds(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** Every column but the first is aligned as numbers. */
function table(head: string[], rows: string[][]): string {
  const rulers = ["---", ...head.slice(1).map(() => "---:")];
  return [head, rulers, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function count(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function dollars(value: number): string {
  return value < 0.005 && value > 0 ? "<0.01" : value.toFixed(2);
}

const begin = "<!-- begin: written by npm run costs -->";
const end = "<!-- end -->";

/** Returns the page with the tables between its markers. Throws if it lacks them. */
export function withTables(page: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page lacks the markers ${begin} and ${end}.`);
  return `${page.slice(0, from)}${begin}\n\n${costTables()}\n\n${page.slice(to)}`;
}
