/** Where Slack's events come in, and what is to be done about it: a zone that runs here, one made for the moment, or a stage's. */

import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";

import { createIngress } from "../../../lambdas/verification/ingress/ingress.ts";
import { startVerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import type { PortUse } from "./port-use.ts";

/** All but `url` are words for a person, each a sentence; `where` begins one. */
export type Entry = {
  url: string;
  where: string;
  /** What to do where nothing answers. */
  isGone: string;
  /** How it gets the right secret. */
  giveSecret: string;
  lookAtLog: string;
  /** It may well have none: Slack is met over Socket Mode. */
  mayLackSecret: boolean;
};

/** `closes` gets what is to be done when all checks are over. */
export async function openLocalEntry({
  port,
  use,
  isSecretKnown,
  readSecret,
  closes,
}: {
  port: number;
  use: PortUse;
  /** To us, here. */
  isSecretKnown: boolean;
  readSecret: () => Promise<string>;
  closes: (() => Promise<void>)[];
}): Promise<Entry> {
  if (use === "zone") {
    return {
      url: `http://127.0.0.1:${port}/slack/events`,
      where: "The zone that runs here",
      isGone: "Start it again: npm start.",
      giveSecret: "Start it again with the app's own signing secret; without it, it is the fake Slack that it knows.",
      lookAtLog: "Look at its log.",
      mayLackSecret: !isSecretKnown,
    };
  }
  const server = await startVerificationServer({
    ingress: createIngress({
      signingSecret: createCachedSecret({ readSecret }),
      // Only what makes a task would come here.
      queue: { send: () => Promise.reject(new Error("nothing is queued")) },
      log: silentLog,
    }),
    port: 0,
  });
  closes.push(server.close);
  return {
    url: `${server.url}/slack/events`,
    where: "The entry, started for a moment,",
    isGone: "May this machine's programs listen on 127.0.0.1?",
    giveSecret: "Set it to the app's own.",
    lookAtLog: "Report it: that should not be.",
    mayLackSecret: false,
  };
}

export function openStageEntry({
  eventsUrl,
  stageName,
  signingSecret,
}: {
  eventsUrl: string;
  stageName: string;
  /** As the file has it, before it became a stage's. */
  signingSecret: SecretReference;
}): Entry {
  const put = "env" in signingSecret ? `npx sekisho secrets put --only ${signingSecret.env} --overwrite` : undefined;
  return {
    url: eventsUrl,
    where: "The deployed entry",
    isGone: `Is this machine online, and is the stage deployed? npx cdk deploy --all -c stage=${stageName}.`,
    giveSecret:
      put === undefined
        ? "Put the app's own into Secrets Manager; it is taken up within a minute."
        : `${put} --stage ${stageName}; it is taken up within a minute.`,
    lookAtLog: "Look at the log of the ingress, and at the alarms EntryErrors and IngressErrors.",
    mayLackSecret: false,
  };
}
