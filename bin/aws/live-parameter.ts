/** The parameter of Systems Manager that holds a stage's live settings. */
import { GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { callAws } from "./aws-failure.ts";

/** Above this a parameter is an advanced one, which costs $0.05 a month; above the other there is none. */
export const standardBytes = 4096;
export const maxBytes = 8192;

type Parameter = { name: string; region: string; signal: AbortSignal };

export async function readLiveParameter({ name, region, signal }: Parameter): Promise<string> {
  const ssm = new SSMClient({ region });
  const { Parameter } = await callAws({
    doing: `read the parameter ${name}`,
    signal,
    call: (options) => ssm.send(new GetParameterCommand({ Name: name }), options),
  });
  return Parameter?.Value ?? "{}";
}

/** Intelligent tiering: a standard parameter as long as the text fits, an advanced one from then on. */
export async function writeLiveParameter({ name, region, signal, text }: Parameter & { text: string }): Promise<void> {
  const ssm = new SSMClient({ region });
  const input = { Name: name, Value: text, Type: "String", Tier: "Intelligent-Tiering", Overwrite: true } as const;
  await callAws({
    doing: `write the parameter ${name}`,
    signal,
    call: (options) => ssm.send(new PutParameterCommand(input), options),
  });
}
