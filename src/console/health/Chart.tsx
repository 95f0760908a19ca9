import type { ComponentChildren } from "preact"

export type Tone = "good" | "wait" | "bad"

/** A bar for a share from 0 to 1. `says`: the text for screen readers. */
export const Bar = ({ says, share, tone }: { readonly share: number; readonly tone: Tone; readonly says: string }) => (
  <svg class={`bar ${tone}`} viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={says}>
    <Drawn share={share} />
  </svg>
)

const Drawn = ({ share }: { readonly share: number }) => (
  <>
    <rect class="rail" width="100" height="10" />
    <rect class="part" width={Math.round(1_000 * share) / 10} height="10" />
  </>
)

export const grouped = (value: number): string => value.toLocaleString("en")

/** A bar of a chart. */
export interface Line {
  readonly key: string
  readonly label: ComponentChildren
  readonly value: number
  /** The value of a full bar; by default the largest value of the chart. */
  readonly of?: number
}

/** A bar chart with numbers. Screen readers read it as a table. */
export const Chart = ({
  lines,
  name,
  labelled,
  valued
}: {
  readonly name: string
  /** Column headers of the table, for the labels and for the values. */
  readonly labelled: string
  readonly valued: string
  readonly lines: ReadonlyArray<Line>
}) => {
  const most = Math.max(1, ...lines.map(({ value }) => value))
  return (
    <table class="chart">
      <caption class="spoken">{name}</caption>
      <thead class="spoken">
        <tr>
          <th scope="col">{labelled}</th>
          <th scope="col">{valued}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ key, label, of, value }) => (
          <tr key={key}>
            <th scope="row">{label}</th>
            <td class="number">{of === undefined ? grouped(value) : `${grouped(value)} of ${grouped(of)}`}</td>
            <td class="drawn" aria-hidden="true">
              <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <Drawn share={value / (of === undefined ? most : Math.max(1, of))} />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
