/** Elements that every page uses. Text goes in as text, never as HTML. */
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import type { DisplayNode } from "../display-node.ts";
import type { ConnectionState } from "./server.ts";

/** The mark of the page's head, and the picture of the bot. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M6 10h20M8 14h16M11 10v14M21 10v14" />
    </svg>
  );
}

const connectionTexts: Readonly<Record<ConnectionState, string>> = {
  connecting: "connecting…",
  live: "live",
  reconnecting: "reconnecting…",
  paused: "paused",
  refused: "reconnecting…",
};

/** The head of each page: its name, its navigation, and whether the server can be reached. */
export function PageHead(props: {
  name: string;
  state: ConnectionState;
  children?: ComponentChildren;
}) {
  return (
    <header class="top">
      <Mark />
      <h1>
        Sekisho <span>{props.name}</span>
      </h1>
      {props.children}
      <p class={props.state === "live" ? "connection on" : "connection"} role="status">
        {connectionTexts[props.state]}
      </p>
    </header>
  );
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: "quiet" | "primary" | "danger";
};

/** A button that submits nothing. */
export function Button({ look = "quiet", ...attributes }: ButtonProps) {
  return <button type="button" class={look} {...attributes} />;
}

/** What went wrong last, read out at once. */
export function Problem({ text }: { text: string }) {
  return (
    <p class="problem bad" role="alert">
      {text}
    </p>
  );
}

/** A tree of Markdown or mrkdwn that the server has parsed. */
export function Tree({ nodes }: { nodes: readonly DisplayNode[] }) {
  return nodes.map((node, index) =>
    typeof node === "string" ? node : <TreeNode key={index} node={node} />,
  );
}

function TreeNode({ node }: { node: Exclude<DisplayNode, string> }) {
  const { tag, children, href, lang, start } = node;
  const inside = <Tree nodes={children} />;
  switch (tag) {
    case "a":
      return (
        <a href={href} target="_blank" rel="noopener noreferrer">
          {inside}
        </a>
      );
    case "h":
      return <h3>{inside}</h3>;
    case "mention":
      return <span class="mention">{inside}</span>;
    case "table":
      return (
        <div class="wide">
          <table>
            <tbody>{inside}</tbody>
          </table>
        </div>
      );
    case "ol":
      return <ol start={start}>{inside}</ol>;
    case "pre":
      return <pre data-lang={lang}>{inside}</pre>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    default: {
      const Tag = tag;
      return <Tag>{inside}</Tag>;
    }
  }
}
