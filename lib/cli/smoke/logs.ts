/** The log groups of a stage: the lines of a task, and lines that tell of an error. Only the fixed name of a line is shown. */
import { CloudWatchLogsClient, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { callAws } from "../aws/aws-failure.ts";

export type SmokeLogs = {
  /** How many lines hold the text. */
  count(request: { group: string; text: string; fromMs: number }): Promise<number>;
  /** The names of the lines of level `error`, and how often each was written. */
  errors(request: { group: string; fromMs: number }): Promise<Map<string, number>>;
  close(): void;
};

const mostEvents = 1000;

export function openLogs({
  region,
  profile,
  signal,
}: {
  region: string;
  profile?: string | undefined;
  signal: AbortSignal;
}): SmokeLogs {
  const client = new CloudWatchLogsClient({ region, ...(profile !== undefined && { profile }) });

  async function messages({ group, pattern, fromMs }: { group: string; pattern: string; fromMs: number }) {
    return callAws({
      doing: `read the log group ${group}`,
      signal,
      timeoutMs: 60_000,
      async call({ abortSignal }) {
        const found: string[] = [];
        const input = { logGroupName: group, filterPattern: pattern, startTime: fromMs };
        for await (const { events = [] } of paginateFilterLogEvents({ client }, input, { abortSignal })) {
          found.push(...events.map(({ message = "" }) => message));
          if (found.length >= mostEvents) break;
        }
        return found;
      },
    });
  }

  return {
    count: async ({ group, text, fromMs }) => (await messages({ group, pattern: `"${text}"`, fromMs })).length,
    async errors({ group, fromMs }) {
      const counts = new Map<string, number>();
      for (const line of await messages({ group, pattern: '{ $.level = "error" }', fromMs })) {
        const name = nameIn(line);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return counts;
    },
    close: () => client.destroy(),
  };
}

/** The message of a line of ours is a fixed name. Any other text is not repeated. */
function nameIn(line: string): string {
  try {
    const { message } = Object(JSON.parse(line)) as { message?: unknown };
    return typeof message === "string" && /^[a-z0-9_]{1,60}$/.test(message) ? message : "a line of another form";
  } catch {
    return "a line of another form";
  }
}
