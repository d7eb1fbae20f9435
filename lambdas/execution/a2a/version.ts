/** Determines the A2A version of a request and its answer (A2A 1.0, section 3.6), and reads its params in the form of 1.0. */

import {
  type A2aVersion,
  type OperationName,
  type OperationParams,
  operations,
  toA2aOperation,
} from "@sekisho/contracts/a2a/operations.ts";
import { v03Operations } from "@sekisho/contracts/a2a/v03/params.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type * as z from "zod";
import type { Exchange } from "../exchange.ts";
import { createParamsError } from "../params-error.ts";
import { readMemberNames } from "./member-names.ts";

/** The version in the header, or else in the query. Undefined if there is neither. */
export function readRequestedVersion({
  header,
  query,
}: Pick<Exchange, "header" | "query">): string | undefined {
  return trimToUndefined(header("a2a-version")) ?? trimToUndefined(query("a2a-version"));
}

/** Without a version, a method name that only 1.0 has means 1.0, and any other 0.3. Patch versions do not matter. Throws `version_not_supported`. */
export function resolveVersion({
  requestedVersion,
  method,
}: {
  requestedVersion: string | undefined;
  method: string;
}): A2aVersion {
  if (requestedVersion === undefined) return toA2aOperation(method)?.version ?? "0.3";
  const [, version] = /^(1\.0|0\.3)(?:\.\d{1,5})?$/.exec(requestedVersion) ?? [];
  if (version !== "1.0" && version !== "0.3") throw new SekishoError("version_not_supported");
  return version;
}

/** Throws `method_not_found`, also for a method name of the other version. */
export function findOperation({
  method,
  version,
}: {
  method: string;
  version: A2aVersion;
}): OperationName {
  const namedOperation = toA2aOperation(method);
  if (namedOperation?.version !== version) throw new SekishoError("method_not_found");
  return namedOperation.operation;
}

export const dialects = { "1.0": "a2a", "0.3": "a2a-0.3" } as const satisfies Record<
  A2aVersion,
  Dialect
>;

/** The dialect of an error while only the requested version is known. */
export function toDialect(requestedVersion: string | undefined): Dialect {
  return dialects[
    requestedVersion === undefined || requestedVersion.startsWith("0.3") ? "0.3" : "1.0"
  ];
}

function trimToUndefined(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

const schemas: Record<A2aVersion, Partial<Record<OperationName, z.ZodType>>> = {
  "1.0": operations,
  "0.3": v03Operations,
};

/** A client of 1.0 must send exactly `tenant`; 0.3 has none. Absent params count as empty. Throws `invalid_params`. */
export function readParams<O extends OperationName>(request: {
  operation: O;
  version: A2aVersion;
  params: unknown;
  tenant: string | undefined;
}): OperationParams<O> {
  const { operation, version, tenant } = request;
  const schema = schemas[version][operation] ?? operations[operation];
  const { params, issues } = readMemberNames({ params: request.params ?? {}, version });
  if (issues.length > 0) throw createParamsError(issues);
  const parsedParams = (schema as z.ZodType<OperationParams<O>>).safeParse(params);
  if (!parsedParams.success) throw createParamsError(parsedParams.error.issues);
  if (version === "1.0" && parsedParams.data.tenant !== tenant) {
    throw createParamsError([{ path: ["tenant"], message: "is not the tenant of this interface" }]);
  }
  return parsedParams.data;
}
