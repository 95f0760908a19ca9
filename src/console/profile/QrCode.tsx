import { encode } from "uqr"

/** A QR code as a picture in the page: one square for each dark cell. */
export const QrCode = ({ label, text }: { readonly text: string; readonly label: string }) => {
  const { data, size } = encode(text, { ecc: "M", border: 3 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("")
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
