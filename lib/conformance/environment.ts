/** Reads the tokens of the bundled conformance command, which are named on its command line. */
import { OptionError } from "./options.ts";

/** `auth` is `none` or `bearer:ENV_NAME`, as it was given for the option. Undefined for `none`. Throws an OptionError. */
export function readToken(option: string, auth: string): string | undefined {
  if (auth === "none") return undefined;
  const [, name] = /^bearer:([A-Za-z_]\w*)$/.exec(auth) ?? [];
  if (name === undefined) throw new OptionError(`${option} is written none, or bearer:ENV_NAME.`);
  const token = process.env[name];
  if (!token) throw new OptionError(`The environment variable ${name} is not set.`);
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new OptionError(`${name} holds no token: it must be visible ASCII.`);
  return token;
}
