/** Brings routes, and what of destinations needs no permission, to a deployed stage: for `config push` and `destinations set`. */
import * as z from "zod";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { stageConfig } from "../../lambdas/shared/config/stage-config.ts";
import { type CommandRun, exitCodes } from "../commands/command.ts";
import { AwsFailure } from "./aws-failure.ts";
import { jsonChanges } from "./json-changes.ts";
import { maxBytes, readLiveParameter, standardBytes, writeLiveParameter } from "./live-parameter.ts";
import { planPush } from "./plan-push.ts";
import { readStackOutputs } from "./stack-outputs.ts";
import type { NamedStage } from "./stage.ts";

/** Resolves to the exit code: 1 where it needs a deploy, and nothing is written then. Rejects with an AwsFailure. */
export async function pushLiveSettings({
  config,
  dryRun,
  signal,
  print,
  note,
  ...named
}: NamedStage & { config: Config; dryRun: boolean } & Pick<CommandRun, "signal" | "print" | "note">): Promise<number> {
  const { stageName, stage } = named;
  const staged = stageConfig({ config, stageName });
  const outputs = await readStackOutputs({ ...named, signal });
  const deployed = fingerprintsIn(outputs.deployedDestinations);
  const parameter = { name: outputs.routesParameter, region: stage.verification.region, signal };
  const before = jsonOf(await readLiveParameter(parameter));
  const { settings, refused, leftOut } = planPush({ config: staged, deployed, before });
  if (refused.length > 0) {
    note(`needs a deploy: ${refused.map(({ name, why }) => `${name} (${why})`).join(", ")}.`);
    note(`Nothing was written. Run npx cdk deploy --all -c stage=${stageName}.`);
    return exitCodes.failed;
  }
  for (const name of leftOut) {
    note(
      `Note: ${name} is not deployed as the file has it. No route leads there; it is left out until it is deployed.`,
    );
  }
  const text = JSON.stringify(settings);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw new AwsFailure(`The live settings are ${bytes} bytes; a parameter holds ${maxBytes}.`);
  const after = JSON.parse(text);
  const changes = jsonChanges({ before, after });
  if (changes.length === 0) {
    print("Nothing changes.");
    return exitCodes.success;
  }
  print(changes.join("\n"));
  for (const name of movedDestinations({ before, after })) note(movedText({ name, stageName }));
  if (bytes > standardBytes) note(`${bytes} bytes: this makes it an advanced parameter, at $0.05 a month.`);
  if (dryRun) return exitCodes.success;
  await writeLiveParameter({ ...parameter, text });
  print(`Written to ${parameter.name}. The workers of stage ${stageName} see it within a minute.`);
  return exitCodes.success;
}

const fingerprintsSchema = z.record(z.string(), z.string());

/** The stack's output that says what was deployed. Throws an AwsFailure where it cannot be read. */
export function fingerprintsIn(output: string): Record<string, string> {
  const parsed = fingerprintsSchema.safeParse(jsonOf(output));
  if (!parsed.success) throw new AwsFailure("The stack's list of deployed destinations cannot be read; deploy again.");
  return parsed.data;
}

const addressSchema = z.object({ card: z.string().optional(), url: z.string().optional() });
const addressesSchema = z.object({ destinations: z.record(z.string(), addressSchema) });

/** Those that had another address before, as far as one was pushed. */
function movedDestinations({ before, after }: { before: unknown; after: unknown }): string[] {
  const [old, wanted] = [addressesSchema.safeParse(before).data, addressesSchema.safeParse(after).data];
  if (old === undefined || wanted === undefined) return [];
  return Object.entries(wanted.destinations).flatMap(([name, { card, url }]) => {
    const { card: knownCard = card, url: knownUrl = url } = old.destinations[name] ?? {};
    return knownCard === card && knownUrl === url ? [] : [name];
  });
}

function movedText({ name, stageName }: { name: string; stageName: string }): string {
  return `Note: ${name} gets another address. What the old one accepted can then be asked for there no longer (npx sekisho tasks list --stage ${stageName} shows what is under way). A new destination and a changed route keep such tasks: the old destination goes on answering for them.`;
}

/** What is no JSON counts as nothing: it is replaced. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
