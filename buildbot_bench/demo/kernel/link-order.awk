# Prints its lines as they come for image 0, and in an order of its own for each further image, until
# all orders are used: `image` times a large prime, read as a number in the factorial system.
{
	line[NR] = $0
}

END {
	orders = 1
	for (i = 2; i <= NR; i++)
		orders *= i
	code = (image * 7919) % orders
	for (left = NR; left > 0; left--) {
		chosen = 1 + code % left
		code = int(code / left)
		print line[chosen]
		for (i = chosen; i < left; i++)
			line[i] = line[i + 1]
	}
}
