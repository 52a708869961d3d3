-- linear 96-48 in f16, kn
return {}
