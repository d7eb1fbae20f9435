/** Types of values that several parts of the configuration share. */

import { isSecureUrl } from "@sekisho/contracts/loopback.ts";
import * as z from "zod";

export const secretSchema = z
  .union(
    [
      z.strictObject({
        env: z
          .string()
          .regex(/^[A-Z][A-Z0-9_]*$/, "must be the name of an environment variable, not its value"),
      }),
      z.strictObject({
        secretsManager: z
          .string()
          .regex(
            /^(arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,512}$/,
            "must be the name or ARN of a secret, not its value",
          ),
      }),
    ],
    'must be a reference such as { "env": "NAME" } or { "secretsManager": "name-or-arn" }, never the secret itself',
  )
  .describe(
    "Where to read the secret, never the secret itself: from an environment variable (in a stage on AWS from the secret sekisho/STAGE/NAME), or from AWS Secrets Manager.",
  );
export type SecretReference = z.infer<typeof secretSchema>;

/** The name of a destination or an agent. */
export const nameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, "must be lower-case letters, digits and hyphens");

/** The request would be another one. */
const reservedHeaders =
  /^(authorization|host|connection|keep-alive|te|trailer|upgrade|expect|cookie|accept.*|content-.*|transfer-.*|proxy-.*|x-amz.*|trace.*|a2a-.*)$/i;

/** The name of a header for a credential, such as x-api-key. */
export const headerNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, "must be the name of a header such as x-api-key")
  .refine(
    (name) => !reservedHeaders.test(name),
    "must not be a header that HTTP or AWS gives a meaning",
  );

/** A whole number from `least` to `most`. */
export function integer(min: number, max?: number) {
  const schema = z.int().min(min);
  return max === undefined ? schema : schema.max(max);
}

/** The time after which AgentCore ends a session without a call, in seconds, within AWS's limits for runtimes on microVMs. */
export const idleSecondsSchema = integer(60, 28_800);

export const regionSchema = z
  .string()
  .regex(/^([a-z]{2}|eusc)(-[a-z]+)+-\d{1,2}$/, "must be an AWS region such as eu-central-1");

export const runtimeArnSchema = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:bedrock-agentcore:[a-z0-9-]+:\d{12}:runtime\/[A-Za-z0-9_-]+$/,
    "must be the ARN of an AgentCore runtime",
  );
export const harnessArnSchema = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:bedrock-agentcore:[a-z0-9-]+:\d{12}:harness\/[A-Za-z0-9_-]+$/,
    "must be the ARN of an AgentCore harness, without the name of an endpoint",
  );
/** The name of an endpoint of a runtime or a harness. */
export const qualifierSchema = z.string().min(1).max(48);

export const roleArnSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/, "must be the ARN of an IAM role");

export function httpUrl() {
  return z.string().refine((text) => {
    const url = URL.parse(text);
    return url !== null && isSecureUrl(url) && url.username === "" && url.password === "";
  }, "must be an https URL without credentials in it; http is allowed on loopback only");
}

/** The error message of a discriminated union whose discriminator is missing or unknown. */
export function oneOf(...names: string[]): {
  error: (issue: { code?: string }) => string | undefined;
} {
  const message = `must be one of ${names.map((name) => `"${name}"`).join(", ")}`;
  return { error: ({ code }) => (code === "invalid_union" ? message : undefined) };
}
