/** The services that operators' commands use: CloudWatch, CloudFormation, and Lambda's Invoke. */
import { escapeXml } from "../../../doubles/aws/json-services-wire.ts";
import type { RunningFunction } from "../lambda/function.ts";
import type { Assembly } from "../template/assembly.ts";
import type { Resolver } from "../template/resolve.ts";
import { alarmStates, watchesTime } from "./alarms.ts";
import { awsFailure, xml } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import type { Metrics } from "./metrics.ts";

/** Serves the names of the templates' alarms that are in a state. It rejects unknown inputs. */
export function cloudWatchBackend({
  resolver,
  metrics,
}: {
  resolver: Resolver;
  metrics: Metrics;
}): Backend {
  const fromMs = Date.now();
  return async ({ call: { action, input }, caller: { account, region } }) => {
    if (action !== "cloudwatch:DescribeAlarms")
      return awsFailure({ service: "monitoring", name: "UnknownOperationException" });
    const { AlarmNamePrefix, StateValue, ...others } = input;
    if (Object.keys(others).length > 0)
      throw new Error(`The rehearsal does not know ${Object.keys(others)} of this call.`);
    const MetricAlarms = resolver
      .resources("AWS::CloudWatch::Alarm")
      .filter(({ stack }) => stack.account === account && stack.region === region)
      .filter(({ ref }) => ref.startsWith(String(AlarmNamePrefix)))
      .filter((alarm) => {
        const states = alarmStates({ alarm, metrics, window: { fromMs, toMs: Date.now() } });
        return (watchesTime(alarm) ? "OK" : states.at(-1)) === StateValue;
      })
      .map(({ ref }) => ({ AlarmName: ref }));
    return Response.json({ MetricAlarms, CompositeAlarms: [] });
  };
}

const madeAt = "2026-11-01T00:00:00Z";
/** Serves DescribeStacks. `moved` replaces addresses of the templates by those of the rehearsal. */
export function stacksBackend({
  assembly,
  resolver,
  moved,
}: {
  assembly: Assembly;
  resolver: Resolver;
  moved: (text: string) => string;
}): Backend {
  const member = (fields: Record<string, string>) =>
    `<member>${Object.entries(fields)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("")}</member>`;

  return async ({ call: { input }, caller }) => {
    const stack = assembly.stacks.find(
      ({ name, account }) => name === input.StackName && account === caller.account,
    );
    if (stack === undefined) {
      const error =
        "<Error><Type>Sender</Type><Code>ValidationError</Code><Message>none</Message></Error>";
      return xml(`<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>`, 400);
    }
    const outputs = Object.keys(stack.template.Outputs).map((name) => {
      const value = moved(resolver.output({ stackName: stack.name, name }));
      return member({ OutputKey: name, OutputValue: escapeXml(value) });
    });
    const described = member({
      StackName: stack.name,
      StackStatus: "CREATE_COMPLETE",
      CreationTime: madeAt,
      Outputs: outputs.join(""),
    });
    return answer("DescribeStacks", `<Stacks>${described}</Stacks>`);
  };
}

function answer(action: string, result: string): Response {
  return xml(
    `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`,
    200,
  );
}

/**
 * Serves Invoke (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html). A function that times out or throws gives a status
 * of 200 with an error header.
 */
export function lambdaBackend({
  functions,
}: {
  functions: () => ReadonlyMap<string, RunningFunction>;
}): Backend {
  return async ({ call: { resources, input } }) => {
    const [invokedArn = ""] = resources;
    // IAM has decided on the whole ARN before: an alias is another resource than its function.
    const all = functions();
    const fn =
      all.get(invokedArn) ?? [...all.values()].find(({ fn }) => fn.aliasArns.includes(invokedArn));
    if (fn === undefined)
      return awsFailure({ service: "lambda", name: "ResourceNotFoundException", status: 404 });
    const outcome = await fn.invoke(input.event, [], invokedArn);
    if (outcome.ok) return Response.json(outcome.payload);
    const [, errorType = "Unhandled"] = /^it threw (\w+)/.exec(outcome.error) ?? [];
    const headers = { "x-amz-function-error": "Unhandled" };
    return Response.json({ errorType, errorMessage: outcome.error }, { headers });
  };
}
