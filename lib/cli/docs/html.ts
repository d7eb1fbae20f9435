/** Text and HTML, in both directions. */

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}

/** The words of HTML that this builder has written itself. */
export function readHtmlText(html: string): string {
  const words = html.replaceAll(/<svg[\s\S]*?<\/svg>|<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
  return words.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => signOf(entity)).trim();
}

function signOf(entity: string): string {
  return Object.keys(entities).find((sign) => entities[sign] === entity) ?? entity;
}
