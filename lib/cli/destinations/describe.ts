/** Describes one destination for a list of them. */

import { authorizerOf, protocolOf, toAddress } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Route } from "@sekisho/config/schema.ts";
import { formatDuration } from "@sekisho/local/web/duration.ts";
import type { DestinationRow } from "@sekisho/local/web/operators-api.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";

type RowSource = {
  name: string;
  destination: Destination;
  routes: readonly Route[];
  /** For a destination without an address: the one that is used, and the authorizer where it is not the destination's. */
  own: { address: string; authorizer?: string };
  needsDeploy: boolean;
};

export function toDestinationRow({
  name,
  destination,
  routes,
  own,
  needsDeploy,
}: RowSource): DestinationRow {
  const { transport, idempotent, deadlineMs } = destination;
  const address = toAddress(destination);
  const leading = routes.map((route, index) => ({
    position: index + 1,
    choice: route.destination.indexOf(name) + 1,
  }));
  return {
    name,
    transport,
    protocol: protocolOf(destination),
    address: address ?? own.address,
    url: destination.transport === "a2a" ? destination.url : undefined,
    authorizer: (address === undefined ? own.authorizer : undefined) ?? authorizerOf(destination),
    idempotent,
    deadlineMs,
    routes: leading.filter(({ choice }) => choice > 0),
    needsDeploy,
  };
}

/** The `own` of a row: the Execution zone of this machine, or the stage's. */
export function describeOwnExecution({
  isStage,
  port,
}: {
  isStage: boolean;
  port: number;
}): RowSource["own"] {
  if (isStage) return { address: "the stage's own Execution zone", authorizer: "sigv4" };
  return { address: `http://127.0.0.1:${port}/` };
}

export const startOwnExecution = `Start it with ${sekisho} execution or ${sekisho} start.`;

export function formatDestinationRow(row: DestinationRow): string {
  const facts = [
    `${carrierText(row)} ${row.address}`,
    ...(row.url === undefined ? [] : [`messages to ${row.url}`]),
    `authorizer ${row.authorizer}`,
    row.idempotent ? "idempotent" : "not idempotent",
    `deadline ${formatDuration(row.deadlineMs)}`,
    row.routes.length === 0 ? "no route leads here" : row.routes.map(routeText).join(", "),
    ...(row.needsDeploy ? ["needs a deploy: the stage has other settings"] : []),
  ];
  return `${row.name}\n${facts.map((fact) => `  ${fact}`).join("\n")}`;
}

function carrierText({ transport, protocol }: DestinationRow): string {
  return protocol === "a2a" && transport !== "a2a" ? `${transport} (A2A)` : transport;
}

function routeText({ position, choice }: { position: number; choice: number }): string {
  return choice === 1 ? `route ${position}` : `route ${position} (failover, choice ${choice})`;
}
