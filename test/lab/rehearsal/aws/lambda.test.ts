/** Invoke by alias: what the function hears of it, and that IAM takes alias and function for two resources. */
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { describe, expect, it } from "@jest/globals";
import {
  closeAfterTest,
  createSample,
  near,
  sampleCaller,
  sampleFunction,
  sampleRole,
  startSampleGateway,
} from "../sample.ts";
import { lambdaBackend } from "./operator-services.ts";

/** A function with an alias, and a role that may invoke the alias alone. */
async function start() {
  const sample = createSample({
    stacks: [
      {
        place: near,
        resources: {
          Role: sampleRole(),
          Worker: sampleFunction(),
          Operators: {
            Type: "AWS::Lambda::Alias",
            Properties: {
              FunctionName: { Ref: "Worker" },
              FunctionVersion: "$LATEST",
              Name: "operator",
            },
          },
          Operator: sampleRole([
            { Effect: "Allow", Action: "lambda:InvokeFunction", Resource: { Ref: "Operators" } },
          ]),
        },
      },
    ],
    code: "exports.handler = async (event, { invokedFunctionArn }) => invokedFunctionArn;",
  });
  const { problems, functions } = sample;
  const caller = sampleCaller(sample, "Operator");
  const backends = { lambda: lambdaBackend({ functions: () => functions }) };
  const gateway = await startSampleGateway(sample, { backends, caller });
  const { credentials, region } = caller;
  const client = new LambdaClient({ region, credentials, endpoint: gateway.url, maxAttempts: 1 });
  closeAfterTest(() => client.destroy());
  const [functionArn = ""] = functions.keys();
  const invoke = async (FunctionName: string, Qualifier?: string): Promise<unknown> => {
    const command = new InvokeCommand({
      FunctionName,
      Payload: Buffer.from("{}"),
      ...(Qualifier && { Qualifier }),
    });
    const { Payload = new Uint8Array() } = await client.send(command);
    return JSON.parse(Buffer.from(Payload).toString("utf8"));
  };
  return { functionArn, invoke, problems };
}

describe("Invoke of an alias", () => {
  it("runs the function of an alias and tells it which alias was invoked", async () => {
    const { functionArn, invoke, problems } = await start();
    const aliasArn = `${functionArn}:operator`;
    expect(await invoke(aliasArn)).toBe(aliasArn);
    expect(await invoke(functionArn, "operator")).toBe(aliasArn);
    expect(problems).toEqual([]);
  });

  it.each(["", ":$LATEST", ":another"])(
    "refuses to invoke the function by another qualifier than the alias: %j",
    async (qualifier) => {
      const { functionArn, invoke, problems } = await start();
      await expect(invoke(`${functionArn}${qualifier}`)).rejects.toThrow(
        /may not lambda:InvokeFunction/,
      );
      expect(problems).toHaveLength(1);
    },
  );
});
