/** Types of values that several parts of the configuration share. */
import * as z from "zod";
import { isSecureUrl } from "../../../contracts/loopback.ts";

export const secretSchema = z
  .union(
    [
      z.strictObject({
        env: z.string().regex(/^[A-Z][A-Z0-9_]*$/, "the name of an environment variable, not its value"),
      }),
      z.strictObject({
        secretsManager: z
          .string()
          .regex(
            /^(arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,512}$/,
            "a secret's name or ARN",
          ),
      }),
    ],
    'a reference such as { "env": "NAME" } or { "secretsManager": "name-or-arn" }, never the secret itself',
  )
  .describe(
    "A reference to a secret, never the secret itself: an environment variable (in a stage on AWS: the secret sekisho/STAGE/NAME), or a secret of AWS Secrets Manager.",
  );
export type SecretReference = z.infer<typeof secretSchema>;

/** A whole number from `least` to `most`. */
export function integer(least: number, most?: number) {
  const schema = z.int().min(least);
  return most === undefined ? schema : schema.max(most);
}

export const regionSchema = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d{1,2}$/, "an AWS region such as eu-central-1");

export const roleArnSchema = z
  .string()
  .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/, "the ARN of a role");

export function httpUrl() {
  return z.string().refine((text) => {
    const url = URL.parse(text);
    return url !== null && isSecureUrl(url) && url.username === "" && url.password === "";
  }, "an https URL (http only on loopback) without credentials in it");
}

/** The error message of a discriminated union whose discriminator is missing or unknown. */
export function oneOf(...names: string[]): { error: (issue: { code?: string }) => string | undefined } {
  const message = `one of ${names.map((name) => `"${name}"`).join(", ")}`;
  return { error: ({ code }) => (code === "invalid_union" ? message : undefined) };
}
