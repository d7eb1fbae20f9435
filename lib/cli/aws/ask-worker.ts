/** Asks the deployed worker of a stage something by a direct invocation, so that it answers with its own role and secrets. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type * as z from "zod";
import type { OperatorRequest } from "../../../lambdas/verification/checks/operator-call.ts";
import { formatStackName, verificationOutputs } from "../../cdk/names.ts";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";

/** Beyond the worker's own time limit: for the way there and back, and for a cold start. */
const graceMs = 30_000;

export type DeployedWorker = {
  stageName: string;
  region: string;
  /** The ARN of the alias for operators, an output of the Verification stack; empty where an older version deployed the stack. */
  workerFunction: string;
  /** As the configuration has it: a worker runs a little longer than its lease. */
  leaseMs: number;
};

/** How long the worker may take. */
export function workerTimeoutMs({ leaseMs }: Pick<DeployedWorker, "leaseMs">): number {
  return leaseMs + graceMs;
}

/** Rejects with an AwsFailure that says what to do. */
export async function askWorker<T>({
  worker,
  request,
  answerSchema,
  signal,
}: {
  worker: DeployedWorker;
  request: OperatorRequest;
  answerSchema: z.ZodType<T>;
  signal: AbortSignal;
}): Promise<T> {
  const { workerFunction, region, stageName } = worker;
  const deploy = `npx cdk deploy --all -c stage=${stageName}`;
  if (workerFunction === "") {
    const stack = formatStackName({ stageName, zone: "Verification" });
    throw new AwsFailure(`The stack ${stack} has no output ${verificationOutputs.workerFunction}. Run ${deploy}.`);
  }
  const lambda = new LambdaClient({ region });
  try {
    const command = new InvokeCommand({
      FunctionName: workerFunction,
      InvocationType: "RequestResponse",
      Payload: Buffer.from(JSON.stringify(request)),
    });
    const { FunctionError, Payload = new Uint8Array() } = await callAws({
      doing: "ask the deployed worker",
      signal,
      timeoutMs: workerTimeoutMs(worker),
      call: (options) => lambda.send(command, options),
    }).catch((thrown) => {
      throw explain({ thrown, workerFunction, deploy });
    });
    const answer = jsonIn(Payload);
    if (FunctionError !== undefined) throw functionFailure({ answer, deploy });
    const parsed = answerSchema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new AwsFailure(`The deployed worker answers as another version does. Run ${deploy}.`);
  } finally {
    lambda.destroy();
  }
}

function explain({
  thrown,
  workerFunction,
  deploy,
}: {
  thrown: unknown;
  workerFunction: string;
  deploy: string;
}): unknown {
  const name = errorNameOf(thrown);
  const failed = (words: string) => new AwsFailure(`Could not ask the deployed worker: ${words}`, { cause: thrown });
  if (/^AccessDenied/.test(name)) {
    return failed(
      `these credentials lack lambda:InvokeFunction on ${workerFunction}. Use a role that has it, by AWS_PROFILE.`,
    );
  }
  if (name === "ResourceNotFoundException") return failed(`there is no function ${workerFunction}. Run ${deploy}.`);
  if (name === "TooManyRequestsException") {
    return failed(
      "all of its concurrency, or all of the account's, is in use (TooManyRequestsException). Try again in a minute; if it stays so, look at the alarm WorkerThrottles and the account's Lambda quota.",
    );
  }
  return thrown;
}

/** Repeats only the kind of error, which is a name, and not the function's own text. */
function functionFailure({ answer, deploy }: { answer: unknown; deploy: string }): AwsFailure {
  const { errorType } = Object(answer) as { errorType?: unknown };
  const kind = typeof errorType === "string" && /^[\w.]{1,80}$/.test(errorType) ? errorType : "unknown";
  if (kind === "UnknownEventError" || kind === "ZodError") {
    return new AwsFailure(`The deployed worker does not know this request: it is of another version. Run ${deploy}.`);
  }
  if (kind === "Sandbox.Timedout") {
    return new AwsFailure("The deployed worker did not answer within its time limit. Look at its log.");
  }
  return new AwsFailure(`The deployed worker failed (${kind}). Look at its log.`);
}

function jsonIn(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString("utf8"));
  } catch {
    return undefined;
  }
}
