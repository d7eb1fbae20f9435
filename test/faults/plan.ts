/** A plan says everything about a run: which story on which engine, which chance, and which operations meet which fault. */
import { type EngineName, engineNames } from "./engines.ts";
import { type Fault, type Kind, kinds } from "./faults.ts";
import { compactOutage, type Outage, parseOutage } from "./outages.ts";
import { stories } from "./stories.ts";
import { mixNames } from "./versions/names.ts";

/** With the seed 0 the world is quiet: latencies and orders are always the same. */
export type Plan = {
  story: string;
  engine: EngineName;
  seed: number;
  faults: readonly Fault[];
  outages?: readonly Outage[];
  /** Which of two versions does what (`versions/mix.ts`). */
  mix?: string | undefined;
};

/**
 * Such as `sync/aws/0/12:lost,30:dies_after`, with outages `sync/aws/0/12:lost/store@5+600:lost`, and with two versions
 * `sync/aws/0/12:lost//turns:minor`.
 */
export function compact({ story, engine, seed, faults, outages = [], mix }: Plan): string {
  const always = [story, engine, seed, faults.map(({ at, kind }) => `${at}:${kind}`).join(",")];
  const away = outages.map(compactOutage).join(",");
  return [
    ...always,
    ...(away === "" && mix === undefined ? [] : [away]),
    ...(mix === undefined ? [] : [mix]),
  ].join("/");
}

/** Throws an Error for a person where the text is no plan. */
export function parsePlan(text: string): Plan {
  const [story = "", engine = "", seed = "", faults = "", outages = "", mix] = text.split("/");
  const engineName = engineNames.find((name) => name === engine);
  if (!stories.some(({ name }) => name === story)) throw new Error(`There is no story "${story}".`);
  if (engineName === undefined) throw new Error(`There is no engine "${engine}".`);
  if (!/^\d{1,10}$/.test(seed)) throw new Error(`"${seed}" is no seed.`);
  const list = faults === "" ? [] : faults.split(",");
  if (mix !== undefined && !mixNames.includes(mix)) throw new Error(`There is no mix "${mix}".`);
  const plan = { story, engine: engineName, seed: Number(seed), faults: list.map(parseFault), mix };
  return outages === "" ? plan : { ...plan, outages: outages.split(",").map(parseOutage) };
}

function parseFault(text: string): Fault {
  const [, at, name] = /^(\d{1,6}):(\w+)$/.exec(text) ?? [];
  const kind: Kind | undefined = kinds.find((one) => one === name);
  if (at === undefined || kind === undefined)
    throw new Error(`"${text}" is no fault such as 12:lost.`);
  return { at: Number(at), kind };
}
