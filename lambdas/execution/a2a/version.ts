/** Which version of A2A a request is to be understood in, and answered in (A2A 1.0, section 3.6). */
import { type A2aVersion, type OperationName, toA2aOperation } from "../../../contracts/a2a/operations.ts";
import type { Dialect } from "../../../contracts/dialects.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Exchange } from "../http/exchange.ts";

/** What the client asks for: in the header, or else in the query. Undefined where it says nothing. */
export function askedVersion({ header, query }: Pick<Exchange, "header" | "query">): string | undefined {
  return said(header("a2a-version")) ?? said(query("a2a-version"));
}

/**
 * Who says nothing speaks 0.3, unless the method has a name that only 1.0 knows. Of the patch version nothing depends. Throws
 * `version_not_supported`.
 */
export function versionInForce({ asked, method }: { asked: string | undefined; method: string }): A2aVersion {
  if (asked === undefined) return toA2aOperation(method)?.version ?? "0.3";
  const [, version] = /^(1\.0|0\.3)(?:\.\d{1,5})?$/.exec(asked) ?? [];
  if (version !== "1.0" && version !== "0.3") throw new SekishoError("version_not_supported");
  return version;
}

/** Throws `method_not_found`, also for the name that another version has for it. */
export function operationNamed({ method, version }: { method: string; version: A2aVersion }): OperationName {
  const named = toA2aOperation(method);
  if (named?.version !== version) throw new SekishoError("method_not_found");
  return named.operation;
}

export const dialects = { "1.0": "a2a", "0.3": "a2a-0.3" } as const satisfies Record<A2aVersion, Dialect>;

/** How errors are written for a client of which no more is known than the version that it asks for. */
export function dialectAsked(asked: string | undefined): Dialect {
  return dialects[asked === undefined || asked.startsWith("0.3") ? "0.3" : "1.0"];
}

function said(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}
