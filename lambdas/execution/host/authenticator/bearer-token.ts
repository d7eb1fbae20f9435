/** The token of a request, RFC 6750, section 2.1. */
import type { Asked } from "./authenticator.ts";

/** Header values are Latin-1: a character is a byte. */
const maxTokenBytes = 8 * 1024;
const scheme = "Bearer ";

/** Undefined where there is none, or where it is longer than any token that could be meant: that is not looked at. */
export function bearerTokenOf({ header }: Asked): string | undefined {
  const value = header("authorization");
  if (value === undefined || value.length > maxTokenBytes + scheme.length) return undefined;
  return /^Bearer +([^\s]+)$/i.exec(value)?.[1];
}
