/** Callers of AWS. Each has its own credentials, so that a call tells who made it. */
import { randomUUID } from "node:crypto";

export type Caller = {
  /** The logical id of what runs, for messages. */
  name: string;
  /** An event source is AWS itself, which receives messages under the role of a function. */
  kind: "code" | "event source";
  roleArn: string;
  account: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken: string };
};

/** Matches all secret keys and session tokens. */
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

/** Returns the variables in which SDKs look for credentials. */
export function credentialVariables({ credentials, region }: Caller): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
  };
}
