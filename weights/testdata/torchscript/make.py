import torch, sys
torch.manual_seed(0)
class Attn(torch.nn.Module):
    def __init__(s,d):
        super().__init__()
        s.in_proj_weight=torch.nn.Parameter(torch.randn(3*d,d)); s.in_proj_bias=torch.nn.Parameter(torch.randn(3*d)); s.out_proj=torch.nn.Linear(d,d)
    def forward(s,x):
        return s.out_proj(torch.nn.functional.linear(x,s.in_proj_weight,s.in_proj_bias)[..., :4])
class Block(torch.nn.Module):
    def __init__(s,d):
        super().__init__()
        s.attn=Attn(d); s.ln_1=torch.nn.LayerNorm(d); s.mlp=torch.nn.ModuleDict({'c_fc':torch.nn.Linear(d,2*d),'c_proj':torch.nn.Linear(2*d,d)}); s.ln_2=torch.nn.LayerNorm(d)
    def forward(s,x):
        x=x+s.attn(s.ln_1(x)); return x+s.mlp['c_proj'](s.mlp['c_fc'](s.ln_2(x)))
class Transformer(torch.nn.Module):
    def __init__(s,d,n):
        super().__init__(); s.resblocks=torch.nn.Sequential(*[Block(d) for _ in range(n)])
    def forward(s,x): return s.resblocks(x)
class Visual(torch.nn.Module):
    def __init__(s,d=4):
        super().__init__()
        s.class_embedding=torch.nn.Parameter(torch.randn(d)); s.positional_embedding=torch.nn.Parameter(torch.randn(5,d)); s.proj=torch.nn.Parameter(torch.randn(d,3))
        s.conv1=torch.nn.Conv2d(3,d,2,2,bias=False); s.ln_pre=torch.nn.LayerNorm(d); s.transformer=Transformer(d,1); s.ln_post=torch.nn.LayerNorm(d)
    def forward(s,x):
        x=s.conv1(x).flatten(2).transpose(1,2); x=torch.cat([s.class_embedding.expand(x.shape[0],1,-1),x],1)+s.positional_embedding
        return s.ln_post(s.transformer(s.ln_pre(x)))[:,0]@s.proj
class CLIP(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.visual=Visual(); s.logit_scale=torch.nn.Parameter(torch.ones([])); 
        s.register_buffer('input_resolution', torch.tensor(4)); s.register_buffer('context_length', torch.tensor(77)); s.register_buffer('vocab_size', torch.tensor(49408))
        s.note='text'; s.k=3
    def forward(s,x): return s.visual(x)
m=CLIP()
m.visual.conv1.half(); m.visual.proj.data=m.visual.proj.data.half(); m.visual.transformer.resblocks[0].attn.half(); m.visual.transformer.resblocks[0].mlp.half()
s=torch.jit.script(m); torch.jit.save(s,'clip.pt')
t=torch.jit.trace(CLIP(),torch.zeros(1,3,4,4)); torch.jit.save(t,'traced.pt')
import hashlib
for k,v in m.state_dict().items(): print(k,tuple(v.shape),v.dtype, float(v.double().sum()))
