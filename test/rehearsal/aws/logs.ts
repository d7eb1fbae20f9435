/** CloudWatch Logs' FilterLogEvents over what the functions wrote: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html */
import type { Resolver } from "../template/resolve.ts";
import type { LambdaFunction } from "../template/wiring.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

/** Knows a quoted text, and one field of a line of JSON that equals a text. */
export function logsBackend({
  resolver,
  functions,
  lines,
}: {
  resolver: Resolver;
  functions: readonly LambdaFunction[];
  /** What was written so far, by the label of the function. */
  lines: readonly { from: string; line: string }[];
}): Backend {
  return async ({ call: { action, input }, caller }) => {
    if (action !== "logs:FilterLogEvents") throw new Error(`The rehearsal does not know ${action}.`);
    const { logGroupName, filterPattern, startTime = 0, ...others } = input;
    if (Object.keys(others).length > 0)
      throw new Error(`The rehearsal does not know ${Object.keys(others).join(", ")}.`);
    const fn = functions.find(({ logGroup, account }) => logGroup === logGroupName && account === caller.account);
    const isThere = resolver
      .resources("AWS::Logs::LogGroup")
      .some((group) => resolver.ref(group) === logGroupName && group.stack.account === caller.account);
    if (!isThere) return awsFailure({ service: "logs", name: "ResourceNotFoundException" });
    const fits = matcherOf(String(filterPattern));
    const events = lines
      .filter(({ from, line }) => from === fn?.label && atMsOf(line) >= Number(startTime) && fits(line))
      .map(({ line }, index) => ({
        logStreamName: "s",
        timestamp: atMsOf(line),
        message: line,
        eventId: String(index),
      }));
    return Response.json({ events, searchedLogStreams: [] });
  };
}

function matcherOf(pattern: string): (line: string) => boolean {
  const [, text] = /^"([^"]+)"$/.exec(pattern) ?? [];
  if (text !== undefined) return (line) => line.includes(text);
  const [, field, value] = /^\{ \$\.(\w+) = "(\w+)" \}$/.exec(pattern) ?? [];
  if (field === undefined) throw new Error(`The rehearsal does not know the filter ${pattern}.`);
  return (line) => fieldsOf(line)[field] === value;
}

/** When it was ingested, which is when it was written. */
function atMsOf(line: string): number {
  const { timestamp } = fieldsOf(line);
  return typeof timestamp === "string" ? Date.parse(timestamp) : Number.POSITIVE_INFINITY;
}

function fieldsOf(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
