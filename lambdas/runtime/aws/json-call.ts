/** Calls the AWS services that speak JSON: DynamoDB, SQS, Systems Manager, Secrets Manager, KMS. `docs/decisions/0015-aws-calls-of-our-own.md` */
import { isJsonObject, parseJson } from "../untrusted-input.ts";
import { type AwsCallOptions, type CallLimits, createAwsCall, type Failure } from "./aws-call.ts";
import type { Answer } from "./send.ts";

/** The operations of a service. */
type Operations = Record<string, { input: object; output: object }>;

/** Calls one operation. The outputs are those of AWS, unchecked. Our own client and the SDK's can be behind it. */
export type AwsClient<O extends Operations> = {
  call: <Name extends keyof O & string>(
    operation: Name,
    input: O[Name]["input"],
    limits?: CallLimits,
  ) => Promise<O[Name]["output"]>;
};

/** Operations whose outputs are checked where they are used. */
type UncheckedOperations = Record<string, { input: object; output: Record<string, unknown> }>;

export type JsonService = "dynamodb" | "sqs" | "ssm" | "secretsmanager" | "kms";
type Protocol = { target: string; version?: string; headers?: Record<string, string> };

/** The name before the operation in `x-amz-target`, and the version of the protocol. */
const protocols: Record<JsonService, Protocol> = {
  dynamodb: { target: "DynamoDB_20120810", version: "1.0" },
  // Errors then have the codes that they had before SQS spoke JSON, in a header.
  sqs: { target: "AmazonSQS", version: "1.0", headers: { "x-amzn-query-mode": "true" } },
  ssm: { target: "AmazonSSM" },
  secretsmanager: { target: "secretsmanager" },
  kms: { target: "TrentService" },
};

export function createJsonClient<O extends Operations = UncheckedOperations>(
  options: AwsCallOptions & { service: JsonService },
): AwsClient<O> {
  const { target, version = "1.1", headers: protocolHeaders } = protocols[options.service];
  const call = createAwsCall(options);
  return {
    call: (operation, input, limits) =>
      call<O[typeof operation]["output"]>({
        headers: {
          "content-type": `application/x-amz-json-${version}`,
          "x-amz-target": `${target}.${operation}`,
          ...protocolHeaders,
        },
        body: JSON.stringify(input),
        parse: parseResult,
        explain: explainFailure,
        limits,
      }),
  };
}

/** Some operations of SQS succeed with an empty body. */
function parseResult({ status, body }: Answer): { result: Record<string, unknown> } | undefined {
  if (status !== 200) return undefined;
  const result = body.byteLength === 0 ? {} : parseJson(body.toString("utf8"));
  return isJsonObject(result) ? { result } : undefined;
}

function explainFailure({ headers, body }: Pick<Answer, "headers" | "body">): Failure {
  const answer = parseJson(body.toString("utf8"));
  if (!isJsonObject(answer)) return { name: "NoJsonAnswer" };
  const name = errorName({ answer, headers });
  const message = answer.message ?? answer.Message;
  const isExpired =
    name === "InvalidSignatureException" && String(message).includes("Signature expired");
  return { name, isTransient: isExpired, item: answer.Item };
}

/**
 * An error that the service itself declares has its namespace, as in `com.amazonaws.sqs#QueueDoesNotExist`. Any other error of SQS has its
 * name in the header for old clients, which is what the SDK uses.
 */
function errorName({
  answer,
  headers,
}: {
  answer: Record<string, unknown>;
  headers: Answer["headers"];
}): string {
  const type = answer.__type;
  const isDeclared = typeof type === "string" && type.startsWith("com.amazonaws.");
  const [oldCode] = String(headers["x-amzn-query-error"] ?? "").split(";");
  const candidates = isDeclared
    ? [type]
    : [oldCode, type, answer.code, headers["x-amzn-errortype"]];
  const errorType = candidates.find(
    (candidate) => typeof candidate === "string" && candidate !== "",
  );
  return toErrorName(String(errorType ?? ""));
}

/** A name may have a namespace before `#` and an address after `:`. Checks its form, because a server may repeat whatever it received. */
function toErrorName(text: string): string {
  const [, name = "NoName"] = /^(?:[^,:#]*#)?([\w.]{1,80})(?:$|[,:])/.exec(text) ?? [];
  return name;
}
