/** The configuration of telemetry: log lines, metrics and spans. */
import * as z from "zod";
import type { LogLevel } from "../log.ts";
import { httpUrl, oneOf, secretSchema } from "./values.ts";

const ratioSchema = z.number().min(0).max(1);

const exporterSchema = z
  .discriminatedUnion(
    "type",
    [
      z
        .strictObject({ type: z.literal("none") })
        .describe("The trace goes along with each task, and no spans are sent."),
      z
        .strictObject({
          type: z.literal("otlp"),
          url: httpUrl().default("http://127.0.0.1:4318/v1/traces").describe("Where spans are posted, path included."),
          headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, "a header's name"), secretSchema).default({}),
        })
        .describe("A collector that takes OTLP over HTTP; on Lambda that of a layer, at its default address."),
      z.strictObject({ type: z.literal("xray") }).describe("AWS X-Ray's own OTLP endpoint, by the role's credentials."),
    ],
    oneOf("none", "otlp", "xray"),
  )
  .describe("Where spans go.");

export const telemetrySchema = z.strictObject({
  logs: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error"])
        .optional()
        .describe("Default: info; npm start: warn. SEKISHO_LOG_LEVEL goes before it."),
      debugRatio: ratioSchema
        .default(0)
        .describe(
          "The share of tasks whose lines are written at level debug; decided by the request id, the same everywhere.",
        ),
    })
    .prefault({}),
  metrics: z
    .boolean()
    .default(true)
    .describe("GET /metrics where a process goes on running; on Lambda as log lines of CloudWatch."),
  traces: z
    .strictObject({
      sampleRatio: ratioSchema
        .default(1)
        .describe("The share of tasks that are traced; decided once, when Slack's event comes in."),
      exporter: exporterSchema.default({ type: "none" }),
    })
    .prefault({}),
});
export type TelemetryConfig = z.infer<typeof telemetrySchema>;

// The environment takes precedence over the configuration, and that over the default of the entry.

/** `debugRatio` is the share of tasks whose lines are written at every level. */
export type LogSettings = { level: LogLevel; debugRatio: number };

export function toLogSettings(request: {
  environment: { logLevel: LogLevel | undefined; debugRatio: number | undefined };
  config?: TelemetryConfig["logs"];
  level?: LogLevel;
}): LogSettings {
  const { config, level = "info" } = request;
  const { logLevel, debugRatio } = request.environment;
  return { level: logLevel ?? config?.level ?? level, debugRatio: debugRatio ?? config?.debugRatio ?? 0 };
}
