/** Who calls AWS: each with credentials of its own, so that a call tells whose it is. */
import { randomUUID } from "node:crypto";

export type Caller = {
  /** The logical id of what runs, for people. */
  name: string;
  /** AWS itself takes messages for a function, under the function's role. */
  kind: "code" | "event source";
  roleArn: string;
  account: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken: string };
};

/** What all secret keys and session tokens have in common. */
export const madeUpCredential = /(secret|session)-of-.+-[0-9A-F]{32}/;

export function createCaller(caller: Omit<Caller, "credentials">): Caller {
  const id = randomUUID().replaceAll("-", "").toUpperCase();
  const credentials = {
    accessKeyId: `ASIA${id.slice(0, 16)}`,
    secretAccessKey: `secret-of-${caller.name}-${id}`,
    sessionToken: `session-of-${caller.name}-${id}`,
  };
  return { ...caller, credentials };
}

/** How SDKs, and Lambda, put credentials into an environment. */
export function credentialVariables({ credentials, region }: Caller): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
  };
}
