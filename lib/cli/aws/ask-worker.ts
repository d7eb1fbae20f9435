/** Invokes the deployed worker of a stage directly, so that it checks something with its own role and secrets. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { formatStackName, verificationOutputs } from "@sekisho/cdk/names.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readJson } from "@sekisho/local/read-json.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import type { OperatorRequest } from "@sekisho/verification/checks/operator-call.ts";
import type * as z from "zod";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";
import type { StackOutputs } from "./stack-outputs.ts";
import type { NamedStage } from "./stage.ts";

export type DeployedWorker = NamedStage & { config: Config; outputs: StackOutputs };

/** The worker's own time limit is a little longer than its lease. The call itself and a cold start come on top. */
export function workerTimeoutMs({ limits }: Config): number {
  return limits.leaseMs + 30_000;
}

type WorkerCall<T> = DeployedWorker & {
  request: OperatorRequest;
  answerSchema: z.ZodType<T>;
  signal: AbortSignal;
};

/** Rejects with an AwsFailure that says what to do. */
export async function askWorker<T>(call: WorkerCall<T>): Promise<T> {
  const { stageName, stage, config, request, answerSchema, signal } = call;
  const { workerFunction } = call.outputs;
  const deploy = `npx cdk deploy --all -c stage=${stageName}`;
  // The output is empty where an older version deployed the stack.
  if (workerFunction === "") {
    const stack = formatStackName({ stageName, zone: "Verification" });
    throw new AwsFailure(
      `The stack ${stack} has no output ${verificationOutputs.workerFunction}. Run ${deploy}.`,
    );
  }
  const lambda = new LambdaClient({
    region: stage.verification.region,
    customUserAgent: sdkUserAgent,
  });
  try {
    const command = new InvokeCommand({
      FunctionName: workerFunction,
      InvocationType: "RequestResponse",
      Payload: Buffer.from(JSON.stringify(request)),
    });
    const { FunctionError, Payload = new Uint8Array() } = await callAws({
      doing: "ask the deployed worker",
      signal,
      timeoutMs: workerTimeoutMs(config),
      call: (options) => lambda.send(command, options),
    }).catch((error) => {
      const text = explainRefusal({ name: errorNameOf(error), workerFunction, deploy });
      throw text === undefined
        ? error
        : new AwsFailure(`Could not ask the deployed worker: ${text}`, { cause: error });
    });
    const answer = readJson(Buffer.from(Payload).toString());
    if (FunctionError !== undefined) throw toFunctionFailure({ answer, deploy });
    const result = answerSchema.safeParse(answer);
    if (result.success) return result.data;
    throw new AwsFailure(`The answer of the deployed worker is of another version. Run ${deploy}.`);
  } finally {
    lambda.destroy();
  }
}

function explainRefusal({
  name,
  workerFunction,
  deploy,
}: {
  name: string;
  workerFunction: string;
  deploy: string;
}) {
  if (name.startsWith("AccessDenied")) {
    return `these credentials lack lambda:InvokeFunction on ${workerFunction}. Use a role that has it, by AWS_PROFILE.`;
  }
  if (name === "ResourceNotFoundException")
    return `there is no function ${workerFunction}. Run ${deploy}.`;
  if (name !== "TooManyRequestsException") return undefined;
  return "the concurrency of the function or the account is used up (TooManyRequestsException). Try again in a minute. If that fails too, look at the alarm WorkerThrottles and the account's Lambda quota.";
}

/** Shows only the kind of the error, because the function's own text may hold secrets. */
function toFunctionFailure({ answer, deploy }: { answer: unknown; deploy: string }): AwsFailure {
  const { errorType } = Object(answer) as { errorType?: unknown };
  const kind =
    typeof errorType === "string" && /^[\w.]{1,80}$/.test(errorType) ? errorType : "unknown";
  if (kind === "UnknownEventError" || kind === "ZodError") {
    return new AwsFailure(
      `The deployed worker does not know this request: it is of another version. Run ${deploy}.`,
    );
  }
  if (kind === "Sandbox.Timedout") {
    return new AwsFailure(
      "The deployed worker did not answer within its time limit. Look at its log.",
    );
  }
  return new AwsFailure(`The deployed worker failed (${kind}). Look at its log.`);
}
