/** Checks the keys that sign who asked, and what their issuer publishes. */
import { needsAskerToken } from "@sekisho/config/destination-address.ts";
import { readPublished } from "../asker/issuer.ts";
import { type KeySource, readPublicKeys } from "../asker/public-keys.ts";
import { describeStatus } from "../asker/status.ts";
import { type Finding, ok, warning } from "./check.ts";
import type { DeployedStage, Machine, Subject } from "./targets.ts";

/** The keys are checked only if a call has a token of the person who asked. */
export function listAskerChecks({ config: { asker, destinations } }: Subject): string[] {
  const isNeeded = Object.values(destinations).some(needsAskerToken);
  return asker !== undefined && isNeeded ? ["keys and issuer"] : [];
}

export function checkMachineKeys({ dataFolder, ...subject }: Machine): Promise<Finding> {
  return checkKeys(subject, { dataFolder });
}

export function checkStageKeys({ stageName, stage, ...subject }: DeployedStage): Promise<Finding> {
  return checkKeys(subject, { dataFolder: "", named: { stageName, stage } });
}

async function checkKeys(
  { config, stageOption, signal }: Pick<Subject, "config" | "stageOption" | "signal">,
  source: Pick<KeySource, "dataFolder" | "named">,
): Promise<Finding> {
  const { asker } = config;
  if (asker === undefined) return ok("There is no issuer.");
  const [publicKeys, published] = await Promise.all([
    readPublicKeys({ ...source, asker, creates: false, signal }),
    readPublished({ issuer: asker.issuer, signal }),
  ]);
  const nowMs = Date.now();
  const { keys, problems } = describeStatus({ asker, publicKeys, published, nowMs, stageOption });
  if (problems.length > 0) {
    const remedies = new Set(problems.map(({ remedy }) => remedy));
    return warning(problems.map(({ what }) => what).join(" "), [...remedies].join(" "));
  }
  const signing = keys.find(({ role }) => role === "signs");
  return ok(`${asker.issuer} publishes the key ${signing?.id}, which signs.`);
}
