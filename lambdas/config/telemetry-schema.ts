/** The configuration of telemetry: log lines, metrics and spans. */
import * as z from "zod";
import { httpUrl, oneOf, secretSchema } from "./values.ts";

const ratioSchema = z.number().min(0).max(1);

const exporterSchema = z
  .discriminatedUnion(
    "type",
    [
      z
        .strictObject({ type: z.literal("none") })
        .describe("Sends no spans. Tasks still carry their trace ids."),
      z
        .strictObject({
          type: z.literal("otlp"),
          url: httpUrl()
            .default("http://127.0.0.1:4318/v1/traces")
            .describe("The URL of the collector, with its path."),
          headers: z
            .record(
              z.string().regex(/^[A-Za-z0-9-]+$/, "must be the name of a header"),
              secretSchema,
            )
            .default({})
            .describe("Headers that authenticate the sender, by name."),
        })
        .describe(
          "Sends spans to a collector with OTLP over HTTP. On Lambda the default URL is that of a telemetryLayer.",
        ),
      z
        .strictObject({ type: z.literal("xray") })
        .describe(
          "Sends spans to the OTLP endpoint of AWS X-Ray with the credentials of the role.",
        ),
    ],
    oneOf("none", "otlp", "xray"),
  )
  .describe("Where spans are sent.");

export const telemetrySchema = z.strictObject({
  logs: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error"])
        .optional()
        .describe(
          "The lowest level of log lines that are written. SEKISHO_LOG_LEVEL takes precedence. Default: info, with `sekisho start` warn.",
        ),
      debugRatio: ratioSchema
        .default(0)
        .describe(
          "The share of tasks, from 0 to 1, whose log lines are written at all levels. It depends on the request id, so all processes choose the same tasks.",
        ),
    })
    .prefault({})
    .describe("Log lines."),
  metrics: z
    .boolean()
    .default(true)
    .describe(
      "Collects metrics: at GET /metrics in a long-running process, and in CloudWatch on Lambda.",
    ),
  traces: z
    .strictObject({
      sampleRatio: ratioSchema
        .default(1)
        .describe(
          "The share of tasks, from 0 to 1, whose spans are sent. Decided once, when the event arrives from Slack.",
        ),
      exporter: exporterSchema.default({ type: "none" }).describe("Where spans are sent."),
    })
    .prefault({})
    .describe("Spans."),
});
export type TelemetryConfig = z.infer<typeof telemetrySchema>;
