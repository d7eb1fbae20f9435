/** The installation flow's entry on Lambda. */
import { createReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import { createLog } from "../../shared/log.ts";
import { readOauthEnvironment } from "../config/oauth-environment.ts";
import { createManagedInstallations } from "../installations/managed-installations.ts";
import { createKeptSecret } from "../kept-secret.ts";
import { botScopes, type ScopeConfig } from "../slack/bot-scopes.ts";
import { createOauthHttpApi, type OauthHandler } from "./http-api.ts";
import { createOauth } from "./oauth.ts";

/** A rotated client secret is used after that. */
const secretKeepMs = 60_000;

/** `config` is what of the stage's configuration decides the scopes. Throws where the environment cannot be used. */
export function createOauthHandler({ config }: { config: ScopeConfig }): OauthHandler {
  const { clientId, clientSecret: id, installationsPrefix, slackApiUrl, logs, aws } = readOauthEnvironment();
  const readManagedSecret = createReadManagedSecret(aws);
  const clientSecret = createKeptSecret({
    readSecret: () => readManagedSecret({ id }),
    readTimeoutMs: 2000,
    keepMs: secretKeepMs,
  });
  const oauth = createOauth({
    clientId,
    clientSecret: clientSecret.current,
    scopes: botScopes(config),
    installations: createManagedInstallations({ prefix: installationsPrefix, aws }),
    apiUrl: slackApiUrl,
    log: createLog({ service: "verification", ...logs }),
  });
  return createOauthHttpApi({ oauth });
}
