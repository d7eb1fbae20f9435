/**
 * A proxy that makes DynamoDB's emulator eventually consistent: a GetItem without `ConsistentRead` returns the item as it was
 * before its last write, as DynamoDB may. Other reads that may be stale are refused, except reads of an index.
 */
import type { Received } from "../web-server.ts";
import { startWebServer } from "../web-server.ts";
import type { Emulator } from "./emulators.ts";

type Attributes = Record<string, unknown>;
type Write = { TableName: string; Key?: Attributes; Item?: Attributes };
type Input = Write & {
  IndexName?: string;
  ConsistentRead?: boolean;
  TransactItems?: { Put?: Write; Update?: Write; Delete?: Write }[];
};

const writes = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];
const reads = ["Query", "Scan", "BatchGetItem", "TransactGetItems", "ExecuteStatement"];

/** `close` leaves the emulator running. */
export async function startStaleReads({ endpoint }: Pick<Emulator, "endpoint">): Promise<Emulator> {
  /** By table and id. Null if there was no item. */
  const before = new Map<string, Attributes | null>();

  async function forward(
    { request, body }: Pick<Received, "request" | "body">,
    target?: string,
  ): Promise<Response> {
    const headers = Object.fromEntries(request.headers);
    for (const name of ["host", "connection", "content-length", "transfer-encoding"])
      delete headers[name];
    if (target !== undefined) headers["x-amz-target"] = target;
    return fetch(endpoint, { method: "POST", headers, body });
  }

  async function handle({ request, body }: Received): Promise<Response> {
    const [version = "", operation = ""] = request.headers.get("x-amz-target")?.split(".") ?? [];
    const input = JSON.parse(Buffer.from(body).toString()) as Input;
    if (writes.includes(operation)) {
      const writtenText = input.TransactItems?.flatMap(
        ({ Put, Update, Delete }) => Put ?? Update ?? Delete ?? [],
      ) ?? [input];
      const items = await Promise.all(
        writtenText.map(async (write) => {
          const look = {
            TableName: write.TableName,
            Key: { id: idOf(write) },
            ConsistentRead: true,
          };
          const lookedUp = { request, body: Buffer.from(JSON.stringify(look)) };
          const response = await forward(lookedUp, `${version}.GetItem`);
          const { Item = null } = (await response.json()) as { Item?: Attributes };
          return [keyOf(write), Item] as const;
        }),
      );
      const response = await forward({ request, body });
      if (response.ok) for (const [key, item] of items) before.set(key, item);
      return response;
    }
    if (operation === "GetItem" && input.ConsistentRead !== true) {
      const stale = before.get(keyOf(input)) ?? null;
      return Response.json(stale === null ? {} : { Item: stale });
    }
    const isRefused =
      reads.includes(operation) && input.ConsistentRead !== true && input.IndexName === undefined;
    if (isRefused)
      return Response.json(
        { __type: "ValidationException", message: "may be stale" },
        { status: 400 },
      );
    return forward({ request, body });
  }

  const { url, close } = await startWebServer({ handle });
  return { endpoint: url, close };
}

function idOf({ Key, Item }: Write): unknown {
  return Key?.id ?? Item?.id;
}

function keyOf(write: Write): string {
  return `${write.TableName}/${JSON.stringify(idOf(write))}`;
}
