/** Types the files of undici that open connections. The package's index also loads its `fetch`. */

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export = Client;
}

declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export = Agent;
}

declare module "undici/lib/global.js" {
  import type { Dispatcher } from "undici";
  /** Also sets the dispatcher of Node's own `fetch`. */
  export function setGlobalDispatcher(dispatcher: Dispatcher): void;
}

declare module "undici/lib/core/connect.js" {
  import type { Socket } from "node:net";
  import type { buildConnector } from "undici";

  /** The package's own types leave out that the connector returns the socket. */
  type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket;
  const build: (options: buildConnector.BuildOptions) => Connector;
  export = build;
}
