/** The colours that a browser has chosen. "system": those of its own setting. */
export type Theme = "system" | "light" | "dark"

export const themeOf = (name: string | undefined): Theme => (name === "light" || name === "dark" ? name : "system")
