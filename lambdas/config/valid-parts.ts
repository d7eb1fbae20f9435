/**
 * The parts of a configuration that are valid by themselves, so that they can be checked against each other although others are not. A
 * check that needs an invalid part is left out, because its problem may be gone once that part is right.
 */

import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import type * as z from "zod";
import { destinationSchema } from "./destination-schema.ts";
import { type Config, configFields, type Route, routeSchema } from "./schema.ts";
import { stageSchema } from "./stage-schema.ts";

export type ValidParts = {
  /** Has the valid destinations and stages, and defaults for other invalid sections. */
  config: Config;
  /** All names of destinations, whether they are valid or not. Undefined if nobody can tell. */
  destinationNames: readonly string[] | undefined;
  invalidSections: ReadonlySet<keyof Config>;
};

/** For a configuration whose parts are all valid. */
export function allValid(config: Config): ValidParts {
  return { config, destinationNames: Object.keys(config.destinations), invalidSections: new Set() };
}

export function takeValidParts(json: unknown): ValidParts {
  const fields = isJsonObject(json) ? json : {};
  const sections = Object.entries(configFields.shape).map(
    ([name, schema]) => [name as keyof Config, schema.safeParse(fields[name])] as const,
  );
  const valid = sections.flatMap(([name, result]) =>
    result.success ? [[name, result.data] as const] : [],
  );
  const config: Config = { ...configFields.parse({}), ...Object.fromEntries(valid) };
  const invalidSections = new Set(
    sections.flatMap(([name, { success }]) => (success ? [] : [name])),
  );
  const { destinations, stages, routes } = fields;
  if (invalidSections.has("destinations"))
    config.destinations = takeValid(destinationSchema, destinations);
  if (invalidSections.has("stages")) config.stages = takeValid(stageSchema, stages);
  if (invalidSections.has("routes"))
    config.routes = Array.isArray(routes) ? routes.map(toRoute) : [];
  const isUnreadable = destinations !== undefined && !isJsonObject(destinations);
  const names = Object.keys(isJsonObject(destinations) ? destinations : config.destinations);
  return { config, destinationNames: isUnreadable ? undefined : names, invalidSections };
}

function takeValid<T>(schema: z.ZodType<T>, entries: unknown): Record<string, T> {
  if (!isJsonObject(entries)) return {};
  return Object.fromEntries(
    Object.entries(entries).flatMap(([name, value]) => {
      const result = schema.safeParse(value);
      return result.success ? [[name, result.data] as const] : [];
    }),
  );
}

/** An invalid route keeps its place and its destinations. As if it had a word, it counts as one for some messages only. */
function toRoute(json: unknown): Route {
  const result = routeSchema.safeParse(json);
  if (result.success) return result.data;
  const { data = [] } = routeSchema.shape.destination.safeParse(
    isJsonObject(json) ? json.destination : undefined,
  );
  return { word: "unknown", destination: data };
}
